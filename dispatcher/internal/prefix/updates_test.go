package prefix_test

import (
	"bytes"
	"testing"

	"github.com/perdure/perdure/dispatcher/internal/prefix"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// The events alone show that an update was over, when its outcome is not kept any more.
func TestHazard58_TrimmedOutcomesAreDiscarded(t *testing.T) {
	t.Parallel()
	origin := replay.Info{Key: provider.NewKey("i"), ID: "i", Execution: 1, Name: "main"}
	next := origin
	next.Execution = 2
	events := []history.Event{
		{ID: 1, Body: &history.ExecutionStarted{Name: "main", Settings: replay.SettingsAt(replay.EngineLevel)}},
		{ID: 2, Body: &history.UpdateReceived{Name: "add", ID: "over"}},
		{ID: 3, Body: &history.UpdateAccepted{Received: 2}},
		{ID: 4, Body: &history.UpdateCompleted{Received: 2, Outcome: history.UpdateDone}},
		{ID: 5, Body: &history.UpdateReceived{Name: "add", ID: "open"}},
		{ID: 6, Body: &history.UpdateAccepted{Received: 5}},
		{ID: 7, Body: &history.UpdateCompleted{Received: 99}}, // of a damaged history
	}
	p := prefix.Plan{Inst: &provider.Instance{Key: origin.Key}, Events: events, Branch: replay.Branch{Origin: origin, New: next, Event: 2}}
	opened := p.Open()
	point := opened[len(opened)-1].Body.(*history.ForkPoint)
	if over := history.UpdateHash("over"); !bytes.Equal(point.Updates, over[:]) {
		t.Errorf("the point discards %x, want %x alone", point.Updates, over)
	}
}
