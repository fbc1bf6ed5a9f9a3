package schedule

import (
	"slices"
	"time"
)

// maxEarlier bounds how many specifications a schedule remembers.
const maxEarlier = 5

// Progress is how far a schedule has come. Jitter mixes the order in which due times start, so that no single time says which are handled.
type Progress struct {
	After   time.Time `json:"after"`             // due times up to here are handled
	Reached time.Time `json:"reached,omitzero"`  // and so are those that start up to here
	Earlier []Earlier `json:"earlier,omitempty"` // the specifications before changes, oldest first
}

// Earlier is a specification that was changed. Due times up to the change only count if it names them, too, and they were to start later: the
// changed one may name others, which are none of the schedule's.
type Earlier struct {
	Spec  Spec      `json:"spec"`
	Until time.Time `json:"until"` // the change
}

// progress returns how far the schedule has come, nil if State.After says it all.
func (s *State) progress() *Progress {
	if s.Jittered == nil && s.Spec.Jitter > 0 && !s.After.IsZero() {
		return &Progress{After: s.After} // a release before has stored the state
	}
	return s.Jittered
}

// Resume ends a pause. What would have started in it is handled, and what is to start later is not.
func (s *State) Resume(now time.Time) {
	if p := s.progress(); p != nil {
		s.Jittered = &Progress{After: p.After, Reached: later(p.Reached, now), Earlier: p.Earlier}
	}
	s.Paused, s.After = false, now
}

// Change replaces the specification. Due times before the change are not missed ones, but those that are to start later stay.
func (s *State) Change(spec *Spec, now time.Time) {
	if p := s.progress(); p != nil {
		changed := &Progress{After: p.After, Reached: p.Reached, Earlier: append(slices.Clone(p.Earlier), Earlier{Spec: s.Spec, Until: now})}
		if len(changed.Earlier) > maxEarlier {
			changed.After = later(changed.After, changed.Earlier[0].Until)
			changed.Earlier = changed.Earlier[1:]
		}
		s.Jittered = changed
	}
	s.Spec, s.After = *spec, now
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A course finds the due times that are not handled.
type course struct {
	*Times

	of     *Progress
	before []*Times      // of the earlier specifications
	jitter time.Duration // the longest of all specifications
	from   time.Time     // due times up to here are handled
}

// course begins at a progress.
func (t *Times) course(p *Progress) (*course, error) {
	c := &course{Times: t, of: p, jitter: time.Duration(t.spec.Jitter), from: p.After}
	for i := range p.Earlier {
		e := &p.Earlier[i]
		before, err := Compile(t.id, &e.Spec)
		if err != nil {
			return nil, err
		}
		c.before = append(c.before, before)
		c.jitter = max(c.jitter, time.Duration(e.Spec.Jitter))
		c.from = later(c.from, e.Until.Add(-time.Duration(e.Spec.Jitter)-time.Second)) // an earlier one started before the change
	}
	if !p.Reached.IsZero() {
		c.from = later(c.from, p.Reached.Add(-c.jitter-time.Second))
	}
	return c, nil
}

// open reports whether a due time is not handled, and sets when it starts.
func (c *course) open(d *Due) bool {
	for i, before := range c.before {
		until := c.of.Earlier[i].Until
		if d.Time.After(until) {
			continue
		}
		was, ok := before.Next(d.Time.Add(-time.Nanosecond))
		if !ok || !was.Time.Equal(d.Time) || !was.At.After(until) {
			return false
		}
		if !d.At.After(until) { // the jitter is shorter now
			d.At = until.Add(time.Nanosecond)
		}
	}
	return d.At.After(c.of.Reached)
}

// after returns the progress after a plan, nil if Plan.After says it all.
func (c *course) after(p *Plan, now time.Time) *Progress {
	next := &Progress{After: p.After, Reached: later(c.of.Reached, now)}
	for _, e := range c.of.Earlier {
		if e.Until.After(p.After) {
			next.Earlier = append(next.Earlier, e)
		}
	}
	if c.jitter == 0 || c.spec.Jitter == 0 && len(next.Earlier) == 0 {
		return nil
	}
	return next
}

// Upcoming returns the next n due times that are not handled and start after a moment, in the order in which they start.
func (t *Times) Upcoming(p *Progress, now time.Time, n int) (all []Due, err error) {
	c, err := t.course(p)
	if err != nil {
		return nil, err
	}
	for at := c.from; ; {
		d, ok := t.Next(at)
		if !ok || len(all) == n && !d.Time.Before(all[n-1].At) {
			return all, nil
		}
		if at = d.Time; !c.open(&d) || !d.At.After(now) {
			continue
		}
		i, _ := slices.BinarySearchFunc(all, d, func(a, b Due) int { return a.At.Compare(b.At) })
		all = slices.Insert(all, i, d)
		all = all[:min(n, len(all))]
	}
}
