package fileprovider

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// clock is the storage's time. It goes on from the last time in the journal, by the monotonic clock, so that it never goes
// back. While a call runs it stands still, at the time that the journal keeps.
type clock struct {
	mu      sync.Mutex
	base    time.Time // when the clock was started
	started time.Time // base, by the machine
	stopped time.Time // zero: it goes
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

// stop makes it stand still and answers at which time.
func (c *clock) stop() provider.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = c.now()
	return provider.TimeOf(c.stopped)
}

// set makes it stand still at a time of the journal.
func (c *clock) set(at provider.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = at.Std()
}

// start lets it go on, from now or from where it stood if that is later.
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
