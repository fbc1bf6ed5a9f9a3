package schedule

import (
	"testing"
	"time"
)

// started are the runs of a schedule whose node is always there, by due time. Each value is when the run started.
type started map[time.Time]time.Time

// play lets a schedule run until a moment, looking whenever a plan says so, and returns what a plan left out.
func (s started) play(t *testing.T, st *State, from, to time.Time) (missed int64) {
	t.Helper()
	for now := from; !now.After(to); {
		times, err := Compile("id", &st.Spec)
		if err != nil {
			t.Fatal(err)
		}
		of := &Progress{After: st.After}
		if st.Jittered != nil {
			of = st.Jittered
		}
		p, err := times.Plan(of, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range p.Start {
			if _, twice := s[d.Time]; twice {
				t.Errorf("%v starts twice", d.Time)
			}
			s[d.Time] = now
		}
		missed += p.Missed
		if st.After, st.Jittered = p.After, p.Jittered; p.Next == nil {
			break
		}
		now = p.Next.At
	}
	return missed
}

func state(t *testing.T, s Spec) *State {
	t.Helper()
	if err := s.Check(epoch); err != nil {
		t.Fatal(err)
	}
	return &State{ID: "id", Spec: s, After: epoch}
}

// A node that is always there starts each due time at its moment, however long the jitter.
func TestJitterLongerThanThePeriod(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ every, jitter time.Duration }{
		{5 * time.Minute, 5 * time.Minute},
		{5 * time.Minute, 15 * time.Minute},
		{5 * time.Minute, time.Hour},
		{time.Hour, 24 * time.Hour},
		{time.Minute, 10 * time.Minute},
		{time.Hour, 0},
	} {
		end := epoch.Add(36 * time.Hour)
		st := state(t, Spec{Every: []Interval{{Every: Duration(c.every)}}, Jitter: Duration(c.jitter)})
		runs := make(started)
		if missed := runs.play(t, st, epoch, end); missed > 0 {
			t.Errorf("every %v, jitter %v: %d due times are lost as missed", c.every, c.jitter, missed)
		}
		for _, d := range compiled(t, st.Spec).list(epoch, end) {
			if at, ok := runs[d.Time]; ok != !d.At.After(end) || ok && !at.Equal(d.At) {
				t.Errorf("every %v, jitter %v: %v started at %v, want at %v", c.every, c.jitter, d.Time, at, d.At)
			}
		}
	}
}

// pending returns the due times up to a moment that start after it.
func pending(t *testing.T, s *Spec, now time.Time) (all []Due) {
	t.Helper()
	for _, d := range compiled(t, *s).list(epoch, now) {
		if d.At.After(now) {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		t.Fatal("nothing is to come: the test shows nothing")
	}
	return all
}

// A change and a resume drop nothing that is to start later, and start nothing that was never due.
func TestChangesKeepWhatIsToCome(t *testing.T) {
	t.Parallel()
	now, end := epoch.Add(10*time.Hour+time.Minute), epoch.Add(20*time.Hour)
	before := Spec{Every: []Interval{{Every: Duration(10 * time.Minute)}}, Jitter: Duration(45 * time.Minute)}
	for name, c := range map[string]struct {
		change func(st *State)
		at     func(d Due) time.Time // when what was to come starts
	}{
		"another limit": {func(st *State) { s := st.Spec; s.Limit = 1000; st.Change(&s, now) }, func(d Due) time.Time { return d.At }},
		"no jitter":     {func(st *State) { s := st.Spec; s.Jitter = 0; st.Change(&s, now) }, func(Due) time.Time { return now }},
		"more times": {func(st *State) {
			s := st.Spec
			s.Every = []Interval{{Every: Duration(5 * time.Minute)}}
			st.Change(&s, now)
		}, func(d Due) time.Time { return d.At }},
		"an exception": {func(st *State) { s := st.Spec; s.Except = []string{"* * * * *"}; st.Change(&s, now) }, func(Due) time.Time { return time.Time{} }},
		"a pause":      {func(st *State) { st.Paused = true; st.Resume(now) }, func(d Due) time.Time { return d.At }},
		"many changes": {func(st *State) {
			for n := range maxEarlier {
				s := st.Spec
				s.Limit = 1000 + n
				st.Change(&s, now)
			}
		}, func(d Due) time.Time { return d.At }},
	} {
		st := state(t, before)
		runs := make(started)
		runs.play(t, st, epoch, now)
		earlier := len(runs)
		c.change(st)
		if missed := runs.play(t, st, now, end); missed > 0 {
			t.Errorf("%s: %d due times are missed", name, missed)
		}
		coming := pending(t, &before, now)
		for _, d := range coming {
			want := c.at(d)
			if at := runs[d.Time]; at.Sub(want).Abs() > time.Second {
				t.Errorf("%s: %v started at %v, want %v", name, d.Time, at, want)
			}
		}
		named := compiled(t, before)
		for due := range runs {
			if d, ok := named.Next(due.Add(-1)); !due.After(now) && (!ok || !d.Time.Equal(due)) {
				t.Errorf("%s: %v was no due time before the change", name, due)
			}
		}
		if earlier == 0 {
			t.Errorf("%s: nothing has started before the change", name)
		}
	}
}

// What started in a pause stays away, and what starts after it comes.
func TestPausesAreNotCaughtUp(t *testing.T) {
	t.Parallel()
	st := state(t, Spec{Every: []Interval{{Every: Duration(10 * time.Minute)}}, Jitter: Duration(45 * time.Minute)})
	paused, resumed, end := epoch.Add(10*time.Hour), epoch.Add(13*time.Hour), epoch.Add(20*time.Hour)
	runs := make(started)
	runs.play(t, st, epoch, paused)
	st.Resume(resumed)
	if missed := runs.play(t, st, resumed, end); missed > 0 {
		t.Errorf("%d due times are missed", missed)
	}
	for _, d := range compiled(t, st.Spec).list(epoch, end) {
		in := d.At.After(paused) && !d.At.After(resumed)
		if _, ok := runs[d.Time]; ok == (in || d.At.After(end)) {
			t.Errorf("%v, which starts at %v: %t", d.Time, d.At, ok)
		}
	}
}
