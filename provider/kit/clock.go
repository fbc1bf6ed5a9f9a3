package kit

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// Clock is the time of a store that one process has open. It follows the machine's monotonic clock, so that it never goes back, not
// even when the wall clock is set back. It is safe for concurrent use.
type Clock struct {
	base    provider.Time
	started time.Time // with its monotonic reading
}

// NewClock returns a clock that begins now, or at last if that is later. last is the latest time that the store has given out
// before it was opened, 0 for a new one. A store that keeps it, such as with each change, also never goes back over restarts.
func NewClock(last provider.Time) *Clock {
	now := time.Now()
	return &Clock{base: max(provider.TimeOf(now), last), started: now}
}

// Now returns the time. No later call returns an earlier one.
func (c *Clock) Now() provider.Time {
	return c.base + provider.Time(time.Since(c.started)/time.Microsecond)
}
