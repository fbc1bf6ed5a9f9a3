package postgres

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// clock estimates the storage's time from the last time that the storage told and the local time since. It is never
// ahead of the storage, unless the storage's clock is set back. It is behind by at most one round trip. The storage
// verifies the time of each transaction that relies on it.
type clock struct {
	mu   sync.Mutex
	said provider.Time
	when time.Time
	last provider.Time // the last time returned, so that time does not run backwards
	seen provider.Time // the last time that the storage told
}

// resample is how long the fastest answer counts.
const resample = time.Second

// heard records the time that the storage just told, zero if the statement failed.
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

// told takes over a time that a result brings. Nothing is stored with an earlier one afterwards.
func (c *clock) told(now provider.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.seen = max(c.last, now), max(c.seen, now)
}

// now returns the time, zero if the storage has not told it lately.
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

// latest returns the time, or the last one that the storage told.
func (c *clock) latest() provider.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(now, c.seen)
}

// forget drops the estimate after the storage disagreed.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said, c.last = 0, 0
}

// sqlNow is the storage's clock at the moment, not at the beginning of the transaction.
const sqlNow = relational.Clock

// sqlTransactionNow is when the transaction began.
const sqlTransactionNow = `(extract(epoch FROM transaction_timestamp()) * 1000000)::bigint`
