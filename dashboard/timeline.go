package dashboard

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/client"
)

const (
	// maxBars is how many bars a timeline has.
	maxBars = 60
	// halfAxis is how many characters fit on half of the axis where it is narrowest, on a screen of 320 pixels.
	halfAxis = 21
)

// timeline shows when the activities, timers, children and updates of an execution began and ended.
type timeline struct {
	Bars  []bar
	Ticks []tick
	Left  int // bars that were left out
}

// bar is one line of the timeline. X and Width are in percent of the whole.
type bar struct {
	Label string
	Kind  string // activity, timer, child, update or event
	State string // done, failed or open
	Text  string // in words, for those who do not see the bar
	X     string
	Width string
	Point bool // it has no length
}

// tick is a mark on the axis.
type tick struct {
	X    string
	Text string
	End  bool // the last one, which is aligned to the right
}

// newTimeline draws the steps of a history between its first event and now, or its last event if the instance has ended.
func newTimeline(steps []client.HistoryStep, d *client.Description) timeline {
	var t timeline
	begin, end, last := d.CreatedAt, d.UpdatedAt, ""
	if !d.Status.Ended() {
		end, last = d.AsOf, ", now"
	}
	if len(steps) > 0 && !steps[0].Time.IsZero() {
		begin = steps[0].Time
	}
	for i := range steps {
		for _, at := range []time.Time{steps[i].Time, endOf(&steps[i])} {
			if at.After(end) {
				end = at
			}
		}
	}
	whole := end.Sub(begin)
	if whole <= 0 {
		return t
	}
	percent := func(at time.Time) float64 { return 100 * min(1, max(0, float64(at.Sub(begin))/float64(whole))) }
	for i := range steps {
		b, shown := barOf(&steps[i])
		if !shown {
			continue
		}
		if len(t.Bars) == maxBars {
			t.Left++
			continue
		}
		from, to := percent(steps[i].Time), 100.0
		if at := endOf(&steps[i]); !at.IsZero() {
			to = percent(at)
		} else if b.Point {
			to = from
		}
		width := max(to-from, 0.6)
		b.X, b.Width = fmt.Sprintf("%.3f%%", min(from, 100-width)), fmt.Sprintf("%.3f%%", width)
		t.Bars = append(t.Bars, b)
	}
	t.Ticks = ticksOf(whole, last)
	return t
}

// ticksOf returns the marks of an axis. More than three would touch each other on a narrow screen. So would that in the middle if those beside
// it are long.
func ticksOf(whole time.Duration, last string) []tick {
	begin, middle, end := "+"+spanText(0), "+"+spanText(whole/2), "+"+spanText(whole)+last
	ticks := []tick{{"0%", begin, false}}
	length := utf8.RuneCountInString
	if 1+(length(middle)+1)/2+max(length(begin), length(end)) <= halfAxis {
		ticks = append(ticks, tick{"50%", middle, false})
	}
	return append(ticks, tick{"100%", end, true})
}

// endOf returns when a step ended; zero if it has not.
func endOf(s *client.HistoryStep) time.Time {
	if s.End != nil {
		return s.End.Time
	}
	return time.Time{}
}

// barOf returns the bar of a step, and whether it has one.
func barOf(s *client.HistoryStep) (b bar, shown bool) {
	b.Label = s.Name
	switch s.Kind {
	case "ActivityScheduled":
		b.Kind = "activity"
	case "TimerCreated":
		b.Kind, b.Label = "timer", spanText(s.Duration)
	case "ChildStarted":
		b.Kind = "child"
	case "UpdateReceived":
		b.Kind = "update"
	case "EventReceived":
		b.Kind, b.Point = "event", true
	case "LocalEnded":
		b.Kind, b.Point = "local activity", true
	default:
		return b, false
	}
	b.State = "open"
	switch {
	case s.Failure != nil || s.End != nil && s.End.Failure != nil:
		b.State = "failed"
	case s.End != nil || b.Point:
		b.State = "done"
	}
	b.Text = b.Kind + " " + b.Label
	switch {
	case s.End != nil:
		b.Text += fmt.Sprintf(", %s after %s", b.State, spanText(s.Took))
	case s.EndUnknown:
		b.Text += ", end not looked for"
	case !b.Point:
		b.Text += ", not ended"
	}
	return b, true
}
