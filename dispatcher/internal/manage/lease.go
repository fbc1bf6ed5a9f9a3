package manage

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// Moment is an instant by both clocks of the machine. Go's monotonic clock stands still while a machine sleeps or a
// virtual one is suspended. The wall clock can be set. Time counts as passed if either clock says so.
type Moment struct{ mono, wall time.Time }

// ThisMoment returns the instant of the call.
func ThisMoment() Moment {
	now := time.Now()
	return Moment{now, now.Round(0)} // without its monotonic part
}

// until returns the longest time that may have passed between two moments.
func (m Moment) until(later Moment) time.Duration {
	return max(later.mono.Sub(m.mono), later.wall.Sub(m.wall))
}

// Lease is what a node knows of the lease of a task: how long it is, and a moment before the storage granted it.
type Lease struct {
	requested Moment
	length    time.Duration
}

// NewLease returns a lease that is asked for now.
func NewLease(length time.Duration) Lease { return Lease{ThisMoment(), length} }

// Anchor ties the storage's time to this node's: the storage read it after Sent.
type Anchor struct {
	Sent    Moment
	Storage provider.Time
}

// Lease returns a lease that ends at a time of the storage. It counts from the request that read the anchor: nobody knows how long
// the reply was on its way. The time until the storage granted the lease does not count, as a fetch may have waited
// for longer than the lease.
func (a Anchor) Lease(until provider.Time, length time.Duration) Lease {
	waited := min(max(0, until.Sub(a.Storage)-length), a.Sent.until(ThisMoment()))
	return Lease{Moment{a.Sent.mono.Add(waited), a.Sent.wall.Add(waited)}, length}
}

// remaining returns how long the node relies on the lease without a renewal. A fifth of it is kept for clocks that run apart. After
// that the task may be another node's.
func (l Lease) remaining(now Moment) time.Duration { return l.length/5*4 - l.requested.until(now) }

// Startable reports whether enough is left to begin: a third, which is the pause between renewals.
func (l Lease) Startable() bool { return l.startable(ThisMoment()) }

func (l Lease) startable(now Moment) bool { return l.requested.until(now) <= l.length/3*2 }
