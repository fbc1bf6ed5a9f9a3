// Package alarm calls a function when a moment has come, more exactly than Go's timers do.
//
// An idle Go process waits for its next timer in whole milliseconds. While it collects garbage, processors that have nothing else to do mark what is
// in use; they look whether a file or the network has something, and leave timers alone for up to 10 ms. A timer of the kernel that is read
// like a file has neither fault. It costs a goroutine and a file, so it is for the few moments that must be met.
package alarm

import "time"

// An Alarm rings at the moment that it was set to last. It may be set while it rings.
type Alarm interface {
	// Set has the alarm ring after d, in place of the moment before. It may still ring for that one, if that has just come.
	Set(d time.Duration)
	// Stop ends the alarm and waits for what rings. From then on Set does nothing.
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
