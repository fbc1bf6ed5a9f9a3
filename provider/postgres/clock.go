package postgres

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// clock tells the storage's time without asking for it: what the storage said last, and what has passed here since. It is never ahead of
// the storage as long as that one's clock is not set back, and behind it by no more than an answer took. Who relies on it has the
// storage compare.
type clock struct {
	mu   sync.Mutex
	said provider.Time
	when time.Time
	last provider.Time // that was told, so that time does not run backwards
	seen provider.Time // what the storage said last
}

// resample is how long the answer that came fastest counts.
const resample = time.Second

// heard notes what the storage has just said; zero if the statement that was to tell it failed.
func (c *clock) heard(now provider.Time) {
	if now == 0 {
		return
	}
	here := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said == 0 || now >= c.said.Add(here.Sub(c.when)) || here.Sub(c.when) > resample {
		c.said, c.when = now, here
	}
	c.last, c.seen = max(c.last, now), now
}

// now answers the time; zero if the storage has not told it lately.
func (c *clock) now() provider.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := time.Since(c.when)
	if c.said == 0 || passed > time.Minute {
		return 0
	}
	c.last = max(c.last, c.said+provider.Time(passed.Microseconds()))
	return c.last
}

// latest answers the time, or the last one that the storage told.
func (c *clock) latest() provider.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(now, c.seen)
}

// forget is for when the storage disagrees.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said, c.last = 0, 0
}
