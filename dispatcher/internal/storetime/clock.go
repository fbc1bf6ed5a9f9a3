// Package storetime estimates the storage's time on a node. A node goes by it, as the nodes of a store have no other time in common.
package storetime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// Clock estimates the storage's time between two calls: the last storage time plus what this node's monotonic clock has measured since.
// The node's wall clock never counts. The zero value is ready to use.
//
// A storage time is older than it seems by the time that it was on its way. So the reading of the last window that gives the latest time
// counts. The estimate is never late by more than the quickest of these calls took. It is ahead of the storage only by what the two
// clocks drift apart within two windows.
type Clock struct {
	last atomic.Pointer[reading]

	mu           sync.Mutex
	newer, older reading // the best of this window and of the one before
	began        time.Time

	claimed atomic.Int64 // when Claim last returned true
}

// window is how long a reading counts at least. It counts twice that at most.
const window = time.Second

type reading struct {
	storage provider.Time
	local   time.Time
}

// at returns the storage's time at a local moment.
func (r *reading) at(local time.Time) provider.Time {
	return r.storage + provider.Time(local.Sub(r.local).Microseconds())
}

// Set takes over a storage time that has come just now. Zero is none.
func (c *Clock) Set(now provider.Time) {
	if now == 0 {
		return
	}
	r := reading{storage: now, local: time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch age := r.local.Sub(c.began); {
	case age >= 2*window:
		c.newer, c.older, c.began = r, r, r.local
	case age >= window:
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

// Now returns the storage's time, zero before the first Set.
func (c *Clock) Now() provider.Time {
	r := c.last.Load()
	if r == nil {
		return 0
	}
	return r.storage + provider.Time(time.Since(r.local).Microseconds())
}

// Claim reports whether the caller should Ask now. It does so for one caller in half a window.
func (c *Clock) Claim() bool {
	last, now := c.claimed.Load(), time.Now().UnixNano()
	return now-last >= int64(window/2) && c.claimed.CompareAndSwap(last, now)
}

// asks is how often Ask asks the storage.
const asks = 3

// Ask reads the storage's time by quick calls, each bounded by limit: a commit returns a time that is as old as the commit took. It reports
// whether all of the calls succeeded. If not, other calls bring the time, too.
func (c *Clock) Ask(ctx context.Context, store provider.Keeper, limit time.Duration) bool {
	for range asks {
		ctx, cancel := context.WithTimeout(ctx, limit)
		res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "perdure.clock", Max: 1})
		cancel()
		if err != nil {
			return false
		}
		c.Set(res.Now)
	}
	return true
}
