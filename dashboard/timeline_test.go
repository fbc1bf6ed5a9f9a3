package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
)

// The axis of an instance that runs ends now, and that of an ended one with its last event. A step without an end is open until then.
func TestTimelineEndsNow(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	call := client.HistoryStep{HistoryEvent: client.HistoryEvent{ID: 2, Time: begin, Kind: "ActivityScheduled", Name: "Charge"}}
	ended := call
	ended.End, ended.Took = &client.HistoryEvent{ID: 3, Time: begin.Add(time.Second)}, time.Second
	unknown := call
	unknown.EndUnknown = true
	d := client.Description{Status: client.StatusRunning, CreatedAt: begin, UpdatedAt: begin.Add(time.Second), AsOf: begin.Add(100 * time.Second)}
	running := newTimeline([]client.HistoryStep{ended, call, unknown}, &d)
	if last := running.Ticks[len(running.Ticks)-1]; last.Text != "+1 min 40 s, now" {
		t.Errorf("the axis of a running instance ends with %q", last.Text)
	}
	if b := running.Bars; b[0].Width != "1.000%" || b[1].Width != "100.000%" || !strings.Contains(b[1].Text, "not ended") || !strings.Contains(b[2].Text, "end not looked for") {
		t.Errorf("%+v", b)
	}
	d.Status = client.StatusCompleted
	over := newTimeline([]client.HistoryStep{ended}, &d)
	if last := over.Ticks[len(over.Ticks)-1]; last.Text != "+1.0 s" || over.Bars[0].Width != "100.000%" {
		t.Errorf("the axis of an ended instance ends with %q: %+v", last.Text, over.Bars)
	}
}
