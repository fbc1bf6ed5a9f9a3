package leak

import (
	"math"
	"runtime/debug"
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

// agenda holds when each step is due, counted from when the code was told to return. A wait never goes past the next step: a leak is
// noticed when the grace period is over and not at the next doubling.
type agenda struct {
	leak, giveUp, interrupt time.Duration
	pause, longest          time.Duration // between interrupts
}

func newAgenda(o *Options, interruptible bool) agenda {
	g := agenda{leak: o.GracePeriod, giveUp: never, interrupt: never}
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
func (g *agenda) next() (at time.Duration, what step) {
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

// follow carries out the agenda of listed code until the code returns, is given up, or the watchdog is closed.
func (w *Watchdog) follow(c *Code) {
	g := newAgenda(&w.options, c.Interrupt != nil)
	w.mu.Lock()
	since := c.Since
	w.mu.Unlock()
	for {
		at, what := g.next()
		if at == never || !w.remains(c, at-time.Since(since)) {
			return
		}
		switch what {
		case stepLeak:
			w.leaked(c)
		case stepInterrupt:
			w.interrupt(c)
		case stepGiveUp:
			w.giveUp(c)
			return
		}
	}
}

// remains waits for d and reports whether the code is still running and the watchdog open.
func (w *Watchdog) remains(c *Code, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.gone:
		return false
	case <-w.stopped:
		return false
	}
}

// leaked counts code that has used up its grace period.
func (w *Watchdog) leaked(c *Code) {
	work, ok := w.move(c, Leaked)
	if !ok {
		return
	}
	if c.Leave != nil {
		c.Leave()
	}
	w.options.Logger.Error("user code leaked: it ignores the end of its context", append(work.attributes(),
		"grace_period", w.options.GracePeriod, "stack", w.look(c))...)
	if instances, is := w.tooMany(); is {
		w.options.TooMany(instances)
	}
}

func (w *Watchdog) giveUp(c *Code) {
	if work, ok := w.move(c, GaveUp); ok {
		w.options.Logger.Error("leaked code given up: its goroutine stays until the process ends", append(work.attributes(),
			"interrupts", work.Interrupts, "stack", w.look(c))...)
	}
}

// interrupt calls the functions of OnInterrupt.
func (w *Watchdog) interrupt(c *Code) {
	w.mu.Lock()
	c.Interrupts++
	work := c.Work
	w.mu.Unlock()
	if work.State == Leaked {
		w.options.Logger.Warn("leaked code still running", append(work.attributes(), "interrupts", work.Interrupts, "stack", w.look(c))...)
	}
	c.Interrupt(work.Interrupts, func(call func()) { w.callHook(c, call) })
}

// callHook runs a function of OnInterrupt. It is user code: it may panic, hang or end its goroutine.
func (w *Watchdog) callHook(c *Code, call func()) {
	w.mu.Lock()
	w.hooks[c]++
	work := c.Work
	w.mu.Unlock()
	w.calls.Add()
	go func() {
		defer w.calls.Done()
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.hooks[c]--; w.hooks[c] == 0 {
				delete(w.hooks, c)
			}
		}()
		defer func() {
			if p := recover(); p != nil {
				w.options.Logger.Error("OnInterrupt function panicked", append(work.attributes(), "panic", p, "stack", string(debug.Stack()))...)
			}
		}()
		call()
	}()
}
