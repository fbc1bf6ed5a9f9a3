package fileprovider

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// clock is the storage's time. It continues from the last time in the journal with the monotonic clock, so that it
// never runs backwards. During a call it stands still at the time that goes into the journal.
type clock struct {
	mu      sync.Mutex
	base    time.Time // when the clock was started
	started time.Time // monotonic time of base
	stopped time.Time // zero while the clock runs
}

// Now implements memory.Source.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *clock) now() time.Time {
	if !c.stopped.IsZero() {
		return c.stopped
	}
	return c.base.Add(time.Since(c.started))
}

// Timer implements memory.Source.
func (*clock) Timer(d time.Duration) (fired <-chan time.Time, stop func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// stop stops the clock and returns its time.
func (c *clock) stop() provider.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = c.now()
	return provider.TimeOf(c.stopped)
}

// set stops the clock at a time from the journal.
func (c *clock) set(at provider.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = at.Std()
}

// start starts the clock at the current time, or at the time at which it was stopped if that is later.
func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started.IsZero() { // the file was just opened
		c.started = time.Now()
		c.base = c.started
		if c.stopped.After(c.base) {
			c.base = c.stopped
		}
	}
	c.stopped = time.Time{}
}
