package dispatcher

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// clock estimates the storage's time between answers of the storage: the last one plus
// what this node's monotonic clock has measured since. The node's wall clock never counts.
type clock struct {
	last atomic.Pointer[reading]
}

type reading struct {
	storage provider.Time
	local   time.Time
}

// set takes over a storage time that was answered just now.
func (c *clock) set(now provider.Time) {
	if now != 0 {
		c.last.Store(&reading{storage: now, local: time.Now()})
	}
}

// now is zero before the first answer.
func (c *clock) now() provider.Time {
	r := c.last.Load()
	if r == nil {
		return 0
	}
	return r.storage + provider.Time(time.Since(r.local).Microseconds())
}
