package memory

import (
	"sync"
	"time"
)

// Source is the clock of a provider.
type Source interface {
	// Now reads the clock.
	Now() time.Time
	// Timer returns a channel that is closed, or receives, after d; stop frees it.
	Timer(d time.Duration) (fired <-chan time.Time, stop func())
}

// system is the machine's clock, or a synctest bubble's.
type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Clock is a Source that moves only by Advance.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]struct{}
}

type timer struct {
	due   time.Time
	fired chan time.Time
}

// NewClock returns a clock that stands at start.
func NewClock(start time.Time) *Clock {
	return &Clock{now: start, timers: map[*timer]struct{}{}}
}

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Timer implements Source.
func (c *Clock) Timer(d time.Duration) (fired <-chan time.Time, stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{due: c.now.Add(d), fired: make(chan time.Time, 1)}
	if d <= 0 {
		t.fired <- c.now
		return t.fired, func() {}
	}
	c.timers[t] = struct{}{}
	return t.fired, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

// Advance moves the clock forward by d and wakes the calls that waited for it.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for t := range c.timers {
		if !t.due.After(c.now) {
			t.fired <- c.now
			delete(c.timers, t)
		}
	}
}
