// Package alarm calls a function at a given moment, more exactly than Go's timers do.
//
// An idle Go process waits for its next timer in whole milliseconds. During garbage collection, idle processors mark
// memory. They still poll files and the network, but leave timers alone for up to 10 ms. A timer of the kernel that
// is read like a file has neither fault. It costs a goroutine and a file, so use it only for the few moments that
// must be met.
package alarm

import "time"

// An Alarm rings at the moment that was set last. It may be set while it rings.
type Alarm interface {
	// Set has the alarm ring after d, instead of the moment before. It may still ring for that one if it is just due.
	Set(d time.Duration)
	// Stop ends the alarm and waits for a ring in progress. From then on Set does nothing.
	Stop()
}

// New makes an alarm, which is set to nothing yet. It calls ring from one goroutine at a time; ring must not stop it.
//
// Where the kernel has no such timers, and where time is virtual, as in a bubble of testing/synctest, it is a [time.Timer].
func New(ring func()) Alarm {
	if a, err := newExact(ring); err == nil {
		return a
	}
	return newCoarse(ring)
}
