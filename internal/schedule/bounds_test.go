package schedule

import (
	"testing"
	"time"
)

// From and Until go by the due time itself, however long the jitter. A run whose due time is within them starts once, at its moment, also
// after Until. None starts whose due time is outside, although its moment would be within. A change of the bounds judges in the same way: due
// times before it that neither the old bounds nor the new ones had stay away.
func TestBoundsGoByTheDueTime(t *testing.T) {
	t.Parallel()
	from, now, end := epoch.Add(2*time.Hour), epoch.Add(2*time.Hour+31*time.Minute), epoch.Add(12*time.Hour)
	early, until := epoch.Add(2*time.Hour+20*time.Minute), epoch.Add(4*time.Hour)
	for name, c := range map[string]struct {
		until       time.Time
		change      func(s *Spec)
		first, last time.Time // due times that have a run
		gap         bool      // but not those from the old Until to the change
	}{
		"as they are":             {until, func(*Spec) {}, from, until, false},
		"until before the change": {until, func(s *Spec) { s.Until = early }, from, early, false},
		"until is later":          {until, func(s *Spec) { s.Until = until.Add(time.Hour) }, from, until.Add(time.Hour), false},
		"until was over":          {early, func(s *Spec) { s.Until = until }, from, until, true},
		"from after the change":   {until, func(s *Spec) { s.From = now.Add(29 * time.Minute) }, now.Add(29 * time.Minute), until, false},
		"no bounds":               {until, func(s *Spec) { s.From, s.Until = time.Time{}, time.Time{} }, from, end, false},
	} {
		spec := Spec{Every: []Interval{{Every: Duration(5 * time.Minute)}}, Jitter: Duration(70 * time.Minute), From: from, Until: c.until}
		st := state(t, spec)
		runs := make(started)
		missed := runs.play(t, st, epoch, now)
		before := make(map[time.Time]bool, len(runs))
		for due := range runs {
			before[due] = true
		}
		changed := spec
		if c.change(&changed); changed.From != spec.From || changed.Until != spec.Until {
			st.Change(&changed, now)
		}
		if missed += runs.play(t, st, now, end); missed > 0 {
			t.Errorf("%s: %d due times are missed", name, missed)
		}
		outside, startsLater := 0, 0
		for _, d := range compiled(t, Spec{Every: spec.Every, Jitter: spec.Jitter}).list(epoch.Add(-time.Nanosecond), end) {
			want := !d.Time.Before(c.first) && !d.Time.After(c.last) && !d.At.After(end) || before[d.Time]
			if c.gap && d.Time.After(c.until) && !d.Time.After(now) {
				want = false
			}
			if at, ok := runs[d.Time]; ok != want || ok && !at.Equal(d.At) {
				t.Errorf("%s: %v, whose moment is %v, started at %v, want %v", name, d.Time, d.At, at, want)
			}
			if !want && d.At.After(c.first) && d.At.Before(c.last) {
				outside++
			}
			if want && d.At.After(c.last) {
				startsLater++
			}
		}
		if len(before) == 0 || outside == 0 || startsLater == 0 && name != "no bounds" {
			t.Errorf("%s: %d before, %d outside, %d later: the test shows too little", name, len(before), outside, startsLater)
		}
	}
}
