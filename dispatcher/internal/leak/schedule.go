package leak

import (
	"math"
	"time"
)

// never is a time that does not come.
const never = time.Duration(math.MaxInt64)

// step is what the watchdog does next about code that does not return.
type step int

const (
	stepLeak      step = iota // the grace period is over
	stepGiveUp                // further interrupts are pointless
	stepInterrupt             // the functions of OnInterrupt are called
)

// schedule holds when each step is due, counted from when the code was told to return. A wait never goes past the next step: a leak is
// noticed when the grace period is over and not at the next doubling.
type schedule struct {
	leak, giveUp, interrupt time.Duration
	pause, longest          time.Duration // between interrupts
}

func newSchedule(o *Options, interruptible bool) schedule {
	g := schedule{leak: o.GracePeriod, giveUp: never, interrupt: never}
	if o.GiveUpAfter > 0 {
		g.giveUp = max(o.GiveUpAfter, o.GracePeriod)
	}
	if interruptible && o.InterruptInterval > 0 {
		g.interrupt, g.pause, g.longest = o.InterruptInterval, o.InterruptInterval, never
		if o.MaxInterruptInterval > 0 {
			g.longest = max(o.MaxInterruptInterval, o.InterruptInterval)
		}
	}
	return g
}

// next returns the next step and when it is due, and advances to the one after it.
func (g *schedule) next() (at time.Duration, what step) {
	switch at = min(g.leak, g.giveUp, g.interrupt); at {
	case g.leak:
		g.leak = never
		return at, stepLeak
	case g.giveUp:
		return at, stepGiveUp
	default:
		g.pause = min(sum(g.pause, g.pause), g.longest)
		g.interrupt = sum(g.interrupt, g.pause)
		return at, stepInterrupt
	}
}

// sum does not overflow.
func sum(a, b time.Duration) time.Duration {
	if a > never-b {
		return never
	}
	return a + b
}
