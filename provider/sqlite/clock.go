package sqlite

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// maxDrift is how far the clocks may drift apart before that counts as a step.
	maxDrift = 50_000
	// closeEnough is how long reading both clocks may take so that it shows a step, and readings is how often that is tried.
	closeEnough, readings = 1_000, 100
	// slew is how much slower the store's time goes while it is ahead of the wall clock: by one part in slew.
	slew = 16
)

// A clock reads the two clocks of the store, both in microseconds: the wall clock for instants that people see, and the
// elapsed clock for leases. They differ by an offset that changes only when one of them steps, so an instant on one is always
// the same instant on the other.
//
// The store's wall clock is the machine's as long as that does not go back. After a step back, everything stored with its
// arrival time would wait until the clock has caught up. So the store's time then goes on from where it was, a little slower
// than real time until the wall clock has caught up.
type clock struct {
	fake   func() time.Time
	read   func() (wall int64, mono time.Duration) // for tests
	uptime func() int64                            // for tests, in place of bootMicros
	offset atomic.Int64

	mu          sync.Mutex
	last        int64         // the store's time when anchor was read
	anchor      time.Duration // on the monotonic clock
	behind      bool          // the wall clock was set back
	stepUnsaved bool          // the step is not yet stored
}

//nolint:gochecknoglobals // where the monotonic clock counts from
var started = time.Now()

// machine reads the machine's clocks at one instant.
func (c *clock) machine() (wall int64, mono time.Duration) {
	if c.read != nil {
		return c.read()
	}
	now := time.Now()
	return now.UnixMicro(), now.Sub(started)
}

// wall returns the store's time.
func (c *clock) wall() provider.Time {
	if c.fake != nil {
		return provider.TimeOf(c.fake())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, mono := c.machine()
	passed := (mono - c.anchor).Microseconds()
	if !c.behind && (c.last == 0 || wall > c.last+passed-maxDrift) {
		c.last, c.anchor = wall, mono
		return provider.Time(wall)
	}
	if !c.behind {
		c.behind, c.stepUnsaved = true, true
	}
	now := c.last + passed - passed/slew
	if wall >= now {
		c.behind, c.last, c.anchor = false, wall, mono
		return provider.Time(wall)
	}
	return provider.Time(now)
}

// atLeast sets the store's time to no less than an instant that is known to have passed.
func (c *clock) atLeast(at provider.Time) {
	if c.fake != nil || c.wall() >= at-maxDrift {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, c.anchor = c.machine()
	c.last, c.behind = int64(at), true
}

// stepped reports once that the wall clock was set back.
func (c *clock) stepped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	unsaved := c.stepUnsaved
	c.stepUnsaved = false
	return unsaved
}

// skew returns wall minus elapsed. It reads one clock between two readings of the other: a process that was stopped between two single
// readings would take the pause for a step, and leases of other processes for expired.
func (c *clock) skew() int64 {
	if c.fake != nil {
		return 0
	}
	old, offset, took := c.offset.Load(), int64(0), int64(math.MaxInt64)
	for n := 0; n < readings && took > closeEnough; n++ {
		before := c.boottime()
		wall := int64(c.wall())
		after := c.boottime()
		if wall-after <= old+maxDrift && wall-before >= old-maxDrift {
			return old
		}
		if after-before < took {
			offset, took = wall-before, after-before
		}
	}
	c.offset.Store(offset)
	return offset
}

func (c *clock) boottime() int64 {
	if c.uptime != nil {
		return c.uptime()
	}
	return bootMicros()
}

func (c *clock) elapsed() int64 { return int64(c.wall()) - c.skew() }

// boot identifies the boot of the machine that elapsed counts from, "" if it is unknown.
func (c *clock) boot() string {
	if c.fake != nil {
		return ""
	}
	return bootID()
}

// micros converts a duration, rounded up so that nothing is early.
func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }
