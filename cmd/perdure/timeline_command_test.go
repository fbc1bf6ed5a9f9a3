package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/timeline"
	"github.com/perdure/perdure/provider"
)

// drawnHistory returns a timeline with one of everything that is drawn, and names that would lay out a terminal anew.
func drawnHistory() *timeline.Timeline {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }
	var events []client.HistoryEvent
	add := func(when float64, kind string, e client.HistoryEvent) int64 {
		e.ID, e.Kind, e.Time, e.Execution = int64(len(events))+1, kind, at(when), 1
		events = append(events, e)
		return e.ID
	}
	add(0, "ExecutionStarted", client.HistoryEvent{Name: "Order"})
	charge := add(0.5, "ActivityScheduled", client.HistoryEvent{Name: "Charge"})
	add(20, "ActivityFailed", client.HistoryEvent{
		Ref: charge, Attempt: 12, Failure: &client.Failure{Message: "503 Service Unavailable\nstack"}, Attempts: []client.Attempt{
			{Number: 11, Node: "shop-1", Began: at(8), Ended: at(10), Failure: "503"}, {Number: 12, Node: "shop-1", Began: at(18), Ended: at(20), Failure: "503"},
		},
	})
	for i := range 20 {
		of := add(20+float64(i), "ActivityScheduled", client.HistoryEvent{Name: "Reserve"})
		add(20.5+float64(i), "ActivityCompleted", client.HistoryEvent{Ref: of, Attempt: 1})
	}
	for i, name := range []string{"חשבונית-٤٢", "\x1b[2J\u202e", "\u6ce8\u6587\u306e\u914d\u9001", strings.Repeat("long", 60), "z" + strings.Repeat("\u0301", 400)} {
		of := add(41+float64(i), "ChildStarted", client.HistoryEvent{Name: name, Instance: name, InstanceKey: provider.UUID{2}})
		add(44+float64(i), "ChildCompleted", client.HistoryEvent{Ref: of})
	}
	add(50, "EventReceived", client.HistoryEvent{Name: "approval"})
	add(51, "TimerCreated", client.HistoryEvent{Duration: time.Hour, Due: at(3651)})
	carry := add(52, "ActivityScheduled", client.HistoryEvent{Name: "Carry"})
	d := client.Description{
		ID: "order-42", Status: client.StatusRunning, Execution: 1, CreatedAt: begin, AsOf: at(80),
		Activities: []client.Activity{{
			EventID: carry, Name: "Carry", Queue: "carriers", State: client.ActivityQueued, Attempt: 2, ScheduledAt: at(52), NotBefore: at(90),
			Failure: &client.Failure{Message: "the carrier does not answer"}, Attempts: []client.Attempt{{Number: 1, Began: at(55), Ended: at(60), Failure: "x"}},
		}},
		Waiting: &client.WaitingFor{Text: "approve the order of Bob?", Since: at(60)},
		Blocked: &client.Blocked{Reason: "poisoned", Count: 3, Since: at(70), RetryAt: at(95)},
	}
	return timeline.New(&timeline.Source{Of: d, Execution: 1, Status: d.Status, Length: int64(len(events)), Head: events}, timeline.Options{})
}

// A timeline fits a terminal of any width, whatever its names are.
func TestTimelineFitsTheTerminal(t *testing.T) {
	t.Parallel()
	line := drawnHistory()
	for _, width := range []int{30, 40, 69, 70, 80, 200} {
		for _, unfold := range []bool{false, true} {
			var out strings.Builder
			if err := drawTimeline(&out, line, width, unfold); err != nil {
				t.Fatal(err)
			}
			for text := range strings.Lines(out.String()) {
				if text = strings.TrimSuffix(text, "\n"); columnsOf(text) > width || len(text) > 9*width || plain(text) != text {
					t.Errorf("at %d columns a line has %d columns and %d bytes: %q", width, columnsOf(text), len(text), text)
				}
			}
			if width == 40 || width == 80 {
				checkGolden(t, fmt.Sprintf("timeline-%d-%v", width, unfold), out.String())
			}
		}
	}
}

// A row with nothing to say but why it failed says just that.
func TestTimelineBeginsNoTextWithAColon(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	failed := client.HistoryEvent{ID: 2, Kind: "ExecutionFailed", Time: begin, Failure: &client.Failure{Message: "broken on purpose"}}
	src := timeline.Source{
		Of: client.Description{ID: "a", Status: client.StatusFailed, Execution: 1, CreatedAt: begin, EndedAt: begin}, Execution: 1, Status: client.StatusFailed,
		Length: 2, Head: []client.HistoryEvent{{ID: 1, Kind: "ExecutionStarted", Time: begin, Name: "Order"}, failed},
	}
	for _, width := range []int{40, 80, 200} {
		var out strings.Builder
		if err := drawTimeline(&out, timeline.New(&src, timeline.Options{}), width, false); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, "broken") || strings.Contains(text, " : ") || strings.Contains(text, "\n:") {
			t.Errorf("at %d columns: %s", width, text)
		}
	}
}
