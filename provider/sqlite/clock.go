package sqlite

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// maxDrift is by how much the two clocks may part before that counts as a step.
const maxDrift = 50_000

// A clock reads the two clocks of the store, both in microseconds: the wall clock for
// instants that people see, and the elapsed clock for leases. They differ by an offset
// that changes only when one of them steps, so that an instant on one is always the same
// instant on the other.
type clock struct {
	fake   func() time.Time
	offset atomic.Int64
}

func (c *clock) wall() provider.Time {
	if c.fake != nil {
		return provider.TimeOf(c.fake())
	}
	return provider.Time(time.Now().UnixMicro())
}

// skew answers wall minus elapsed.
func (c *clock) skew() int64 {
	if c.fake != nil {
		return 0
	}
	offset := time.Now().UnixMicro() - bootMicros()
	old := c.offset.Load()
	if d := offset - old; d > maxDrift || d < -maxDrift {
		c.offset.Store(offset)
		return offset
	}
	return old
}

func (c *clock) elapsed() int64 { return int64(c.wall()) - c.skew() }

// boot names the boot of the machine that elapsed counts from, "" if that is not known.
func (c *clock) boot() string {
	if c.fake != nil {
		return ""
	}
	return bootID()
}

// micros converts a duration, rounded up so that nothing is early.
func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }
