package dispatcher

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// clock estimates the storage's time between answers of the storage: an answer's plus what this node's monotonic clock has
// measured since. The node's wall clock never counts.
//
// An answer is older than it seems by the time that it was on its way, so of the latest ones the one that says the most counts: the estimate is
// never late by more than the quickest answer was, and never ahead of the storage but for what the clocks drift apart in that time.
type clock struct {
	last atomic.Pointer[reading]

	mu           sync.Mutex
	newer, older reading // the best of this clockWindow and of the one before
	began        time.Time

	asked atomic.Int64 // when askTime did so last
}

// clockWindow is how long an answer counts at least, and half of how long it does at most.
const clockWindow = time.Second

type reading struct {
	storage provider.Time
	local   time.Time
}

// at answers the storage's time at a local moment.
func (r *reading) at(local time.Time) provider.Time {
	return r.storage + provider.Time(local.Sub(r.local).Microseconds())
}

// set takes over a storage time that was answered just now.
func (c *clock) set(now provider.Time) {
	if now == 0 {
		return
	}
	r := reading{storage: now, local: time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch age := r.local.Sub(c.began); {
	case age >= 2*clockWindow:
		c.newer, c.older, c.began = r, r, r.local
	case age >= clockWindow:
		c.newer, c.older, c.began = r, c.newer, r.local
	case now > c.newer.at(r.local):
		c.newer = r
	}
	best := c.newer
	if c.older.at(r.local) > best.at(r.local) {
		best = c.older
	}
	c.last.Store(&best)
}

// now is zero before the first answer.
func (c *clock) now() provider.Time {
	r := c.last.Load()
	if r == nil {
		return 0
	}
	return r.storage + provider.Time(time.Since(r.local).Microseconds())
}

// asks is how often the storage is asked for its time at once.
const asks = 3

// askTime asks the storage for its time, now and then, by calls that are quick: the answers to others are as old as their commits took. Turns that
// are held until they are due go by it.
func (d *Dispatcher) askTime(fetching context.Context) {
	last, now := d.clock.asked.Load(), time.Now().UnixNano()
	if now-last < int64(clockWindow/2) || !d.clock.asked.CompareAndSwap(last, now) {
		return
	}
	d.fetch(func() {
		for range asks {
			ctx, cancel := context.WithTimeout(fetching, callTimeout)
			res, err := d.store.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "perdure.clock", Max: 1})
			cancel()
			if err != nil {
				return // other calls tell the time, too
			}
			d.clock.set(res.Now)
		}
		d.early.reset(&d.clock)
	})
}
