package dashboard

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

// No label of the axis touches another one where the axis is narrowest, however long the instance has run. The middle has a label where it
// has room.
func TestLabelsOfTheAxisDoNotOverlap(t *testing.T) {
	t.Parallel()
	const (
		axis      = 320 - 2*2*0.9*16 // pixels: the screen without the margins of the page and of the axis, see style.css
		character = 6.0              // of 12 pixels
		gap       = 4.0
	)
	middles := map[bool]int{}
	for _, last := range []string{"", ", now"} {
		for whole := time.Nanosecond; whole < 40*365*24*time.Hour; whole += 1 + whole/7 {
			right := -gap
			for _, tick := range ticksOf(whole, last) {
				width, from := character*float64(utf8.RuneCountInString(tick.Text)), 0.0
				switch {
				case tick.End:
					from = axis - width
				case tick.X == "50%":
					from = axis/2 - width/2
					middles[true]++
				}
				if from < right+gap {
					t.Errorf("%v%s: the label %q begins at %.0f, and the one before it ends at %.0f", whole, last, tick.Text, from, right)
				}
				right = from + width
			}
			middles[false]++
		}
	}
	if middles[true] < middles[false]/2 {
		t.Errorf("%d of %d axes have a label in the middle", middles[true], middles[false])
	}
}
