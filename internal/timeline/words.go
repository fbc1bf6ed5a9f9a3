package timeline

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/amount"
)

// Length returns a duration with two units at most.
func Length(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// Title returns what the row is, such as "Reserve × 2,000" for a group.
func (r *Row) Title() string {
	title := cmp.Or(r.Name, "(without a name)")
	if r.Count > 1 {
		title += " × " + Thousands(int64(r.Count))
	}
	return title
}

// Words returns how far it has come, for people. Times are left to those who draw: they know the zone.
func (r *Row) Words() string {
	if r.Kind == KindGap || r.Kind == KindMark && !r.grouped() {
		return r.Detail
	}
	var parts []string
	switch {
	case r.grouped():
		for _, s := range []State{Open, Failed, Unknown, GivenUp, Done} {
			if n := r.States[s]; n > 0 {
				parts = append(parts, Thousands(int64(n))+" "+string(s))
			}
		}
	case r.Point && r.State == Done, r.Kind == KindWait, r.Kind == KindBlocked:
	case !r.Ended.IsZero() && !r.Began.IsZero():
		parts = append(parts, string(r.State)+" after "+Length(r.Ended.Sub(r.Began)))
	default:
		parts = append(parts, string(r.State))
	}
	if r.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", r.Attempt))
	}
	if r.NotKept > 0 {
		parts = append(parts, amount.Of(r.NotKept, "attempt")+" not kept")
	}
	if r.Detail != "" {
		parts = append(parts, r.Detail)
	}
	return strings.Join(parts, ", ")
}

func (r *Row) grouped() bool { return r.Count > 1 || r.Kind == KindMore }

// Words returns the span for people.
func (s *Span) Words() string {
	text := s.Kind
	if s.Attempt > 0 && (s.Kind == SpanAttempt || s.Kind == SpanRunning) {
		text = fmt.Sprintf("attempt %d", s.Attempt)
	}
	if s.Node != "" {
		text += " on " + s.Node
	}
	if !s.Began.IsZero() && !s.Ended.IsZero() {
		text += ", " + Length(s.Ended.Sub(s.Began))
	}
	if s.Failure != "" {
		text += ": " + s.Failure
	}
	return text
}

// Thousands returns a number with commas.
func Thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
