package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/perdure/perdure/internal/timeline"
)

// The characters of a bar, the most important first, and what they stand for.
//
//nolint:gochecknoglobals // constant table
var barSigns = []struct {
	sign rune
	text string
}{
	{'x', "failed"},
	{'#', "blocked"},
	{'*', "a moment"},
	{'>', "runs, since when is not stored"},
	{'=', "from its call, or an attempt"},
	{'~', "waits"},
	{'_', "paused or parked"},
	{'-', "until the next attempt"},
	{'.', "queued"},
	{'?', "not kept or not read"},
}

// signOf returns the character of a span.
func signOf(s *timeline.Span) rune {
	if s.Failed {
		return 'x'
	}
	switch s.Kind {
	case timeline.SpanBlocked:
		return '#'
	case timeline.SpanRunning:
		return '>'
	case timeline.SpanWhole, timeline.SpanAttempt:
		return '='
	case timeline.SpanWaiting:
		return '~'
	case timeline.SpanPaused, timeline.SpanParked:
		return '_'
	case timeline.SpanBackoff:
		return '-'
	case timeline.SpanQueued:
		return '.'
	default:
		return '?'
	}
}

// drawing draws a timeline in a number of columns.
type drawing struct {
	line  *timeline.Timeline
	width int
	bar   int  // columns of a bar
	wide  bool // an item is one line, and its text goes on below it
	used  map[rune]bool
	out   strings.Builder
}

// The columns before the bar of a wide drawing: the event and the offset.
const eventColumns, offsetColumns = 7, 12

// drawTimeline writes a timeline with the given number of columns.
func drawTimeline(w io.Writer, line *timeline.Timeline, width int, unfold bool) error {
	d := &drawing{line: line, width: width, wide: width >= 70, used: map[rune]bool{}}
	d.bar = width - 2
	if d.wide {
		d.bar = (width - eventColumns - offsetColumns) * 2 / 5
	}
	d.head()
	for i := range line.Rows {
		r := &line.Rows[i]
		d.row(r, "")
		for j := range r.Members {
			if unfold {
				d.row(&r.Members[j], "  ")
			}
		}
		if hidden := r.Count - len(r.Members); unfold && len(r.Members) > 0 && hidden > 0 {
			d.text("  ... " + timeline.Thousands(int64(hidden)) + " more of them")
		}
	}
	d.legend()
	if _, err := io.WriteString(w, d.out.String()); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// text writes a text in lines of the width.
func (d *drawing) text(s string) {
	for _, line := range wrap(plain(s), d.width, 4) {
		d.out.WriteString(line + "\n")
	}
}

// head says what is drawn, and writes the axis.
func (d *drawing) head() {
	l := d.line
	d.text(fmt.Sprintf("%s, execution %d, %s, %s events", l.ID, l.Execution, l.Status, timeline.Thousands(l.Events)))
	end := "to " + clock(l.End)
	if l.Open {
		end = "to now, " + clock(l.End)
	}
	d.text(fmt.Sprintf("%s %s: %s", clock(l.Begin), end, timeline.Length(l.Whole())))
	if l.NotRead > 0 {
		d.text(timeline.Thousands(l.NotRead) + " events between both ends were not read: --events reads more")
	}
	axis, middle, last := "+0", "+"+timeline.Length(l.Whole()/2), "+"+timeline.Length(l.Whole())
	if gap := d.bar - columnsOf(axis+middle+last); gap >= 2 {
		axis += strings.Repeat(" ", gap/2) + middle + strings.Repeat(" ", gap-gap/2) + last
	} else {
		axis += strings.Repeat(" ", max(1, d.bar-columnsOf(axis+last))) + last
	}
	if d.wide {
		d.out.WriteString(pad("EVENT", eventColumns) + pad("AT", offsetColumns) + axis + "\n")
		return
	}
	d.out.WriteString("  " + axis + "\n")
}

// clock returns a time, or a question mark for one that is not known.
func clock(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return millis(t)
}

// row writes a row with its bar.
func (d *drawing) row(r *timeline.Row, indent string) {
	event, at := "", "?"
	if r.Event > 0 {
		event = fmt.Sprint(r.Event)
	}
	if !r.Began.IsZero() {
		at = "+" + timeline.Length(r.Began.Sub(d.line.Begin))
	}
	if r.Kind == timeline.KindGap || r.Kind == timeline.KindMore {
		at = ""
	}
	what, words := plain(indent+strings.TrimSpace(r.Kind+" "+r.Title())), r.Words()
	if r.Kind == timeline.KindWait {
		what, words = "waits for", strings.TrimSuffix(r.Name+", "+words, ", ")
	}
	if r.Instance != "" && r.Instance != r.Name {
		what += " as " + plain(r.Instance)
	}
	if !r.Next.IsZero() {
		words += ", next at " + instant(r.Next)
	}
	if words = strings.TrimPrefix(words, ", "); words != "" && r.Failure != "" {
		words += ": "
	}
	words = plain(words + r.Failure)
	if !d.wide {
		d.out.WriteString(cut(strings.TrimSpace(at+" "+what), d.width) + "\n")
		if bar := d.barOf(r); bar != "" {
			d.out.WriteString("  " + bar + "\n")
		}
		for _, line := range wrap(words, d.width-2, 4) {
			d.out.WriteString("  " + line + "\n")
		}
		return
	}
	before := eventColumns + offsetColumns + d.bar + 2
	lines := append([]string{cut(what, d.width-before)}, wrap(words, d.width-before-2, 4)...)
	if len(lines) > 1 && columnsOf(lines[0]+lines[1])+2 <= d.width-before {
		lines = slices.Replace(lines, 0, 2, lines[0]+"  "+lines[1])
	}
	for i, line := range lines {
		if i == 0 {
			line = pad(event, eventColumns) + pad(at, offsetColumns) + pad(d.barOf(r), d.bar) + "  " + line
		} else {
			line = strings.Repeat(" ", before+2) + line
		}
		d.out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// barOf returns the bar of a row.
func (d *drawing) barOf(r *timeline.Row) string {
	cells := []rune(strings.Repeat(" ", d.bar))
	rank := func(sign rune) int {
		for i := range barSigns {
			if barSigns[i].sign == sign {
				return i
			}
		}
		return len(barSigns)
	}
	set := func(from, to time.Time, sign rune) {
		if from.IsZero() {
			return
		}
		first := min(d.bar-1, int(d.line.Place(from)*float64(d.bar)))
		last := d.bar
		if !to.IsZero() {
			last = int(d.line.Place(to)*float64(d.bar) + 0.5)
		}
		for i := first; i < max(first+1, min(last, d.bar)); i++ {
			if rank(sign) < rank(cells[i]) {
				cells[i] = sign
			}
		}
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		sign := signOf(s)
		if r.State == timeline.Failed && !r.Ended.IsZero() && s.Failed && s.Kind == timeline.SpanWhole && r.Count == 1 {
			set(s.Began, s.Ended, '=')
			set(r.Ended, r.Ended, 'x')
			continue
		}
		set(s.Began, s.Ended, sign)
	}
	if len(r.Spans) == 0 && r.Point && r.Kind != timeline.KindGap {
		sign := '*'
		if r.State == timeline.Failed {
			sign = 'x'
		}
		set(r.Began, r.Began, sign)
	}
	for _, c := range cells {
		d.used[c] = true
	}
	return strings.TrimRight(string(cells), " ")
}

// legend says what the characters that were used stand for.
func (d *drawing) legend() {
	var parts []string
	for _, s := range barSigns {
		if d.used[s.sign] {
			parts = append(parts, string(s.sign)+" "+s.text)
		}
	}
	line := ""
	for _, part := range parts {
		switch {
		case line == "":
			line = "\n" + part
		case columnsOf(line+"; "+part) > d.width:
			d.out.WriteString(line)
			line = "\n" + part
		default:
			line += "; " + part
		}
	}
	if line != "" {
		d.out.WriteString(line + "\n")
	}
}

// columnsOf returns how many columns of a terminal a text takes. Letters of East Asia take two, and marks over other letters none.
func columnsOf(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}

// pad fills a text up with spaces, or adds one to a text that is longer.
func pad(s string, columns int) string { return s + strings.Repeat(" ", max(0, columns-columnsOf(s))) }

// cut cuts a text to a number of columns, and to a number of marks.
func cut(s string, columns int) string {
	if columnsOf(s) <= columns && len(s) <= 8*columns {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > columns-3 || i > 8*columns {
			return s[:i] + "..."
		}
	}
	return s
}

// wrap breaks a text into lines of at most so many columns, at spaces where it can. What is beyond the last line is cut.
func wrap(s string, columns, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case columnsOf(line)+1+columnsOf(word) <= columns:
			line += " " + word
		case len(lines) == most-1:
			return append(lines, cut(line+" ...", columns))
		default:
			lines, line = append(lines, cut(line, columns)), word
		}
	}
	if line != "" {
		lines = append(lines, cut(line, columns))
	}
	return lines
}
