package dispatcher

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// moment is an instant by both clocks of the machine. Go's monotonic clock stands still while a machine sleeps or a
// virtual one is suspended, and the wall clock can be set; what either of them says has passed may have passed.
type moment struct{ mono, wall time.Time }

func thisMoment() moment {
	now := time.Now()
	return moment{now, now.Round(0)} // without its monotonic part
}

// until is the longest that may have passed between two moments.
func (m moment) until(later moment) time.Duration {
	return max(later.mono.Sub(m.mono), later.wall.Sub(m.wall))
}

// lease is what this node knows of the lease of a task: how long it is, and a moment before the storage granted it.
type lease struct {
	asked  moment
	length time.Duration
}

// anchor ties the storage's time to this node's: it was read there after the moment.
type anchor struct {
	sent    moment
	storage provider.Time
}

// lease answers a lease that ends at a time of the storage. It counts from the request that read the anchor, as nobody knows how long an
// answer was on its way, and from what the storage's clock measured until it granted the lease: a fetch may have been parked for longer than the lease.
func (a anchor) lease(until provider.Time, length time.Duration) lease {
	parked := min(max(0, until.Sub(a.storage)-length), a.sent.until(thisMoment()))
	return lease{moment{a.sent.mono.Add(parked), a.sent.wall.Add(parked)}, length}
}

// left is how long the lease may be relied on without a renewal: a fifth of it is kept for clocks that run apart. After
// that the task may be another node's.
func (l lease) left(now moment) time.Duration { return l.length/5*4 - l.asked.until(now) }

// startable tells whether enough is left to begin: a third, which is the pause between renewals.
func (l lease) startable(now moment) bool { return l.asked.until(now) <= l.length/3*2 }

// giveUnbegun gives a task back, uncounted, whose slot is taken and whose lease has become too short to begin.
func (d *Dispatcher) giveUnbegun(working context.Context, a *attempt) {
	d.count.attemptsReleased.Add(1)
	d.refuseTask(working, provider.TaskReport{TaskRef: a.ref, Token: a.token, Attempt: a.stored(), Outcome: provider.TaskRelease})
	if a.suspect {
		d.suspects.Done()
	}
}
