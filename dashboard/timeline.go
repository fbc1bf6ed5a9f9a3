package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/timeline"
)

const (
	// instanceRows is how many rows the timeline on the page of an instance has, and pageRows that of a page of its own.
	instanceRows, pageRows = 40, 200
	// timelineEvents is how many events the page of a timeline reads, and liveEvents up to how many it reads them again and again.
	timelineEvents, liveEvents = 6_000, 1_000
	// leastWidth is that of a part of a bar, in percent, so that it is seen.
	leastWidth = 0.5
)

// drawn is a timeline as a page draws it.
type drawn struct {
	*timeline.Timeline

	Bars []*bar
	Hint bool // some of it was not read: the page of the timeline has more
}

// bar is a row. Its parts are in percent of the axis.
type bar struct {
	*timeline.Row

	Offset  string // of its begin; "": not known
	Parts   []part
	Inner   []*bar // members of a group
	Outside int    // members of a group that are not shown
}

// part is a part of a bar.
type part struct {
	X, Width string
	Y, High  int // what goes on between attempts is flat
	Class    string
	Text     string // in words, for those who do not see it
}

// timelineOptions are those of a timeline as the principal may see it.
func (c *call) timelineOptions(rows int, d *client.Description) timeline.Options {
	v := view{c: c}
	return timeline.Options{
		MaxRows: rows, Text: c.text, Part: c.part, Wait: c.waitText,
		Waiting: func(w *client.WaitingFor) (string, bool) {
			text := v.WaitingText(d.Orchestration, w)
			return clip(200, firstLine(text)), text != ""
		},
	}
}

// draw places a timeline on a page.
func draw(t *timeline.Timeline) *drawn {
	d := &drawn{Timeline: t}
	for i := range t.Rows {
		d.Bars = append(d.Bars, barOf(t, &t.Rows[i]))
	}
	return d
}

func barOf(t *timeline.Timeline, r *timeline.Row) *bar {
	b := &bar{Row: r}
	if !r.Began.IsZero() && !t.Begin.IsZero() {
		b.Offset = "+" + timeline.Length(r.Began.Sub(t.Begin))
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		if s.Began.IsZero() {
			continue
		}
		from, to := 100*t.Place(s.Began), 100.0
		if !s.Ended.IsZero() {
			to = 100 * t.Place(s.Ended)
		}
		b.Parts = append(b.Parts, partOf(from, to, classOf(s), s.Words()))
	}
	if r.Point && len(r.Spans) == 0 && !r.Began.IsZero() {
		at := 100 * t.Place(r.Began)
		class := "moment"
		if r.State == timeline.Failed {
			class += " failed"
		}
		b.Parts = append(b.Parts, partOf(at, at, class, "at "+b.Offset))
	}
	slices.SortStableFunc(b.Parts, func(x, y part) int { return cmp.Compare(x.High, y.High) }) // short attempts lie over long pauses
	for i := range r.Members {
		b.Inner = append(b.Inner, barOf(t, &r.Members[i]))
	}
	if len(r.Members) > 0 {
		b.Outside = r.Count - len(r.Members)
	}
	return b
}

func partOf(from, to float64, class, text string) part {
	width := max(to-from, leastWidth)
	p := part{X: fmt.Sprintf("%.3f%%", min(from, 100-width)), Width: fmt.Sprintf("%.3f%%", width), Y: 2, High: 10, Class: class, Text: text}
	if class == "backoff" || class == "queued" {
		p.Y, p.High = 4, 6
	}
	return p
}

// classOf returns the class of a part in the style sheet.
func classOf(s *timeline.Span) string {
	class := map[string]string{
		timeline.SpanWhole: "whole", timeline.SpanQueued: "queued", timeline.SpanAttempt: "whole", timeline.SpanBackoff: "backoff",
		timeline.SpanRunning: "going", timeline.SpanPaused: "held", timeline.SpanParked: "held", timeline.SpanWaiting: "waiting", timeline.SpanBlocked: "stuck",
	}[s.Kind]
	switch {
	case class == "":
		return "unknown"
	case s.Failed:
		return class + " failed"
	}
	return class
}

// Label returns what the bar says to those who do not see it: the row and its parts, the last ones if there are many.
func (b *bar) Label() string {
	parts := []string{b.Is() + " " + clip(80, b.Title())}
	if words := b.Words(); words != "" {
		parts[0] += ", " + words
	}
	const most = 12
	for i := max(0, len(b.Spans)-most); i < len(b.Spans); i++ {
		parts = append(parts, clip(120, b.Spans[i].Words()))
	}
	return strings.Join(parts, "; ")
}

// Is returns what the row is, in words.
func (b *bar) Is() string {
	switch b.Kind {
	case timeline.KindWait:
		return "waits for"
	case timeline.KindGap:
		return "not read"
	case timeline.KindMore:
		return ""
	}
	return b.Kind
}

// Link reports whether the row leads to an event on the same page.
func (b *bar) Link() bool { return b.Event > 0 && b.Kind != timeline.KindMore }

// Middle returns the time in the middle of the axis, and Half the offset there.
func (d *drawn) Middle() time.Time { return d.Begin.Add(d.Whole() / 2) }
func (d *drawn) Half() string      { return "+" + timeline.Length(d.Whole()/2) }

// Length returns the offset of the end.
func (d *drawn) Length() string { return "+" + timeline.Length(d.Whole()) }
