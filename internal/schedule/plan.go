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
	Start  []Due     `json:"start,omitempty"`  // to start now, oldest first
	Missed int64     `json:"missed,omitempty"` // due times that are left out, at least
	Last   time.Time `json:"last,omitzero"`    // of those that are left out
	Next   *Due      `json:"next,omitempty"`   // nil: none
	After  time.Time `json:"after"`            // all due times up to here are handled
}

// Plan returns what to do now, if all due times up to after are handled. The work is bounded for any distance between the two.
func (t *Times) Plan(after, now time.Time) Plan {
	most := t.spec.CatchUp.most()
	window := t.spec.CatchUp.window()
	start := Late + time.Duration(t.spec.Jitter)
	for back := start; ; back *= 4 {
		from := now.Add(-min(back, max(window, start)))
		whole := !from.After(after)
		if whole {
			from = after
		}
		p, late := t.planFrom(from, now, window, most)
		if whole || late >= most || back >= window {
			t.countMissed(&p, after, from)
			return p
		}
	}
}

// planFrom plans the due times after from. late is how many of them are started although they are late.
func (t *Times) planFrom(from, now time.Time, window time.Duration, most int) (p Plan, late int) {
	var missed, timely []Due
	p.After = now
	for at := from; ; {
		d, ok := t.Next(at)
		if !ok {
			break
		}
		if d.At.After(now) {
			p.Next = &d
			if before := d.Time.Add(-time.Second); before.Before(p.After) {
				p.After = before
			}
			break
		}
		at = d.Time
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

// countMissed counts the due times between two moments, up to a limit.
func (t *Times) countMissed(p *Plan, after, from time.Time) {
	for range maxCounted {
		d, ok := t.Next(after)
		if !ok || d.Time.After(from) {
			return
		}
		after = d.Time
		p.Missed++
		if p.Last.Before(d.Time) {
			p.Last = d.Time
		}
	}
}
