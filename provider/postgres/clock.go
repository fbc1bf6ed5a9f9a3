package postgres

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// clock estimates the storage's time from the last time that the storage returned and the local time since. It is never
// ahead of the storage, unless the storage's clock is set back. It is behind by at most one round trip. The storage
// verifies the time of each transaction that relies on it.
type clock struct {
	mu        sync.Mutex
	sample    provider.Time
	sampledAt time.Time
	last      provider.Time // the last time returned, so that time does not run backwards
	seen      provider.Time // the last time that the storage returned
}

// resample is how long the fastest answer counts.
const resample = time.Second

// observe records the time that the storage just returned, zero if the statement failed.
func (c *clock) observe(now provider.Time) {
	if now == 0 {
		return
	}
	here := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sample == 0 || now >= c.sample.Add(here.Sub(c.sampledAt)) || here.Sub(c.sampledAt) > resample {
		c.sample, c.sampledAt = now, here
	}
	c.last, c.seen = max(c.last, now), now
}

// advance takes over the time of a result. Nothing is stored with an earlier one afterwards.
func (c *clock) advance(now provider.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.seen = max(c.last, now), max(c.seen, now)
}

// now returns the time, zero if the storage has not returned it lately.
func (c *clock) now() provider.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := time.Since(c.sampledAt)
	if c.sample == 0 || passed > time.Minute {
		return 0
	}
	c.last = max(c.last, c.sample+provider.Time(passed.Microseconds()))
	return c.last
}

// latest returns the time, or the last one that the storage returned.
func (c *clock) latest() provider.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(now, c.seen)
}

// reset drops the estimate after the storage disagreed.
func (c *clock) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sample, c.last = 0, 0
}

// sqlNow is the storage's clock at the moment, not at the beginning of the transaction.
const sqlNow = relational.Clock

// sqlTransactionNow is when the transaction began.
const sqlTransactionNow = `(extract(epoch FROM transaction_timestamp()) * 1000000)::bigint`
