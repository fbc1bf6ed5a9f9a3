package schedule

import (
	"slices"
	"time"
)

// Late is by how much a start may be behind its time without being a missed one.
const Late = time.Minute

// maxCounted bounds how many missed due times are counted.
const maxCounted = 1000

// Plan says what to do at a moment.
type Plan struct {
	Start    []Due     `json:"start,omitempty"`    // to start now, oldest first
	Missed   int64     `json:"missed,omitempty"`   // due times that are left out, at least
	Last     time.Time `json:"last,omitzero"`      // of those that are left out
	Next     *Due      `json:"next,omitempty"`     // nil: none
	After    time.Time `json:"after"`              // all due times up to here are handled
	Jittered *Progress `json:"jittered,omitempty"` // which others are handled; nil: none. Releases before start those again, which does nothing
}

// Progress returns how far the schedule has come with the plan.
func (p *Plan) Progress() *Progress {
	if p.Jittered != nil {
		return p.Jittered
	}
	return &Progress{After: p.After}
}

// Plan returns what to do now. The work is bounded for any time since the last plan: it looks back a minute, and four times as far each
// time, until it has as many late due times as it may start. So two weeks of a schedule for each second take milliseconds.
func (t *Times) Plan(of *Progress, now time.Time) (Plan, error) {
	c, err := t.course(of)
	if err != nil {
		return Plan{}, err
	}
	most, window := t.spec.CatchUp.most(), t.spec.CatchUp.window()
	start := Late + c.jitter
	span := max(window+c.jitter, start)
	for back := start; ; back *= 4 {
		from := now.Add(-min(back, span))
		whole := !from.After(c.from)
		if whole {
			from = c.from
		}
		p, late := c.planFrom(from, now, window, most)
		if whole || late >= most || back >= span {
			c.countMissed(&p, from)
			p.After = later(p.After, of.After)
			p.Jittered = c.after(&p, now)
			return p, nil
		}
	}
}

// planFrom plans the due times after from. late is how many of them are started although they are late.
func (c *course) planFrom(from, now time.Time, window time.Duration, most int) (p Plan, late int) {
	var missed, timely []Due
	p.After = now
	for at := from; ; {
		d, ok := c.Next(at)
		if !ok || p.Next != nil && !d.Time.Before(p.Next.At) { // none from here on starts earlier
			break
		}
		if at = d.Time; !c.open(&d) {
			continue
		}
		if d.At.After(now) {
			if p.Next == nil || d.At.Before(p.Next.At) {
				p.Next = &d
			}
			if before := d.Time.Add(-time.Second); before.Before(p.After) {
				p.After = before
			}
			continue
		}
		if now.Sub(d.At) <= Late {
			timely = append(timely, d)
			continue
		}
		missed = append(missed, d)
		if now.Sub(d.At) > window || len(missed) > most {
			p.Missed, p.Last = p.Missed+1, missed[0].Time
			missed = missed[1:]
		}
	}
	p.Start = slices.Concat(missed, timely)
	slices.SortFunc(p.Start, func(a, b Due) int { return a.Time.Compare(b.Time) }) // jitter mixes them
	return p, len(missed)
}

// countMissed counts the due times up to a moment that the plan leaves out, up to a limit.
func (c *course) countMissed(p *Plan, to time.Time) {
	for after, n := c.from, 0; n < maxCounted; {
		d, ok := c.Next(after)
		if !ok || d.Time.After(to) {
			return
		}
		if after = d.Time; !c.open(&d) {
			continue
		}
		n++
		p.Missed++
		if p.Last.Before(d.Time) {
			p.Last = d.Time
		}
	}
}
