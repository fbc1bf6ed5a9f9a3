package reserved

import (
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	start := time.Date(2026, 11, 29, 15, 0, 0, 1_999, time.FixedZone("", 3600))
	for _, l := range []Limit{
		{For: time.Hour, Grace: time.Minute},
		{For: 1, Grace: 0},
		{For: MaxLimit, Grace: MaxLimit},
		{For: 90 * time.Second, Grace: time.Second, Execution: 12},
	} {
		l = l.From(start)
		got, ok := ParseLimit(l.String())
		if !ok || got != l {
			t.Errorf("%q: read as %+v, %v, want %+v", l, got, ok, l)
		}
		if LimitBound(l.Due) > l.String() || LimitBound(l.Due.Add(time.Microsecond)) <= l.String() {
			t.Errorf("%q is not behind its bound %q, or behind the next one", l, LimitBound(l.Due))
		}
		next := l.Renewed(start.Add(time.Hour), 13)
		if next.Due.Sub(l.Due) != time.Hour || next.Execution != 0 && next.Execution != 13 || (next.Execution == 0) != (l.Execution == 0) {
			t.Errorf("%q renewed is %q", l, next)
		}
	}
	for _, text := range []string{
		"", "x", "2026-11-29T15:00:00.000000Z", "2026-11-29T15:00:00.000000Z 1h", "2026-11-29T15:00:00.000000Z -1h 1m",
		"2026-11-29T15:00:00.000000Z 1h 1m x", "2026-11-29T15:00:00.000000Z 1h 1m 1 1", "2026-11-29 1h 1m",
	} {
		if l, ok := ParseLimit(text); ok {
			t.Errorf("%q: %+v", text, l)
		}
	}
}
