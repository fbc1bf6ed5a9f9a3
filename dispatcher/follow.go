package dispatcher

import (
	"math"
	"runtime/debug"
	"time"
)

// never is a time that does not come.
const never = time.Duration(math.MaxInt64)

// step is what the watchdog does next about code that does not come back.
type step int

const (
	stepLeak      step = iota // the grace period is over
	stepGiveUp                // interrupting it is in vain
	stepInterrupt             // the functions of OnInterrupt are called
)

// agenda is when each step is due, counted from when the code was told to come back. A wait
// never goes past the next step: a leak is noticed when the grace period is over and not at
// the next doubling.
type agenda struct {
	leak, giveUp, interrupt time.Duration
	pause, longest          time.Duration // between interrupts
}

func newAgenda(cfg *Config, interruptible bool) agenda {
	g := agenda{leak: cfg.GracePeriod, giveUp: never, interrupt: never}
	if cfg.GiveUpAfter > 0 {
		g.giveUp = max(cfg.GiveUpAfter, cfg.GracePeriod)
	}
	if interruptible && cfg.InterruptInterval > 0 {
		g.interrupt, g.pause, g.longest = cfg.InterruptInterval, cfg.InterruptInterval, never
		if cfg.MaxInterruptInterval > 0 {
			g.longest = max(cfg.MaxInterruptInterval, cfg.InterruptInterval)
		}
	}
	return g
}

// next answers the next step and when it is due, and goes on to the one after it.
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

// follow goes through the agenda of code on the list until it comes back, is given up, or the
// node has stopped.
func (w *watchdog) follow(e *watched) {
	g := newAgenda(&w.d.cfg, e.interrupt != nil)
	w.mu.Lock()
	since := e.Since
	w.mu.Unlock()
	for {
		at, what := g.next()
		if at == never || !w.remains(e, at-time.Since(since)) {
			return
		}
		switch what {
		case stepLeak:
			w.leaked(e)
		case stepInterrupt:
			w.interrupt(e)
		case stepGiveUp:
			w.giveUp(e)
			return
		}
	}
}

// remains waits for d and tells whether the code has still not come back, and the node goes on.
func (w *watchdog) remains(e *watched, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.gone:
		return false
	case <-w.stopped:
		return false
	}
}

// leaked counts code that has used up its grace period. If it was the one too many, the node ends.
func (w *watchdog) leaked(e *watched) {
	work, ok := w.move(e, LeakLeaked)
	if !ok {
		return
	}
	if e.leave != nil {
		e.leave()
	}
	w.d.cfg.Logger.Error("code does not come back: left behind", append(work.attributes(),
		"grace_period", w.d.cfg.GracePeriod, "stack", w.look(e))...)
	if instances, is := w.tooMany(); is {
		w.d.tooManyLeaks(instances)
	}
}

func (w *watchdog) giveUp(e *watched) {
	if work, ok := w.move(e, LeakGaveUp); ok {
		w.d.cfg.Logger.Error("leaked code is given up: its goroutine stays until the process ends", append(work.attributes(),
			"interrupts", work.Interrupts, "stack", w.look(e))...)
	}
}

// interrupt calls what OnInterrupt was given.
func (w *watchdog) interrupt(e *watched) {
	w.mu.Lock()
	e.Interrupts++
	work := e.LeakedWork
	w.mu.Unlock()
	if work.State == LeakLeaked {
		w.d.cfg.Logger.Warn("leaked code still does not come back", append(work.attributes(), "interrupts", work.Interrupts, "stack", w.look(e))...)
	}
	e.interrupt(work.Interrupts, func(call func()) { w.callHook(e, call) })
}

// callHook runs a function of OnInterrupt. It is user code: it may panic, hang or take the
// goroutine along.
func (w *watchdog) callHook(e *watched, call func()) {
	w.mu.Lock()
	w.hooks[e]++
	work := e.LeakedWork
	w.mu.Unlock()
	w.calls.add()
	go func() {
		defer w.calls.done()
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.hooks[e]--; w.hooks[e] == 0 {
				delete(w.hooks, e)
			}
		}()
		defer func() {
			if p := recover(); p != nil {
				w.d.cfg.Logger.Error("a function of activity.OnInterrupt panicked", append(work.attributes(), "panic", p, "stack", string(debug.Stack()))...)
			}
		}()
		call()
	}()
}

// look keeps and answers where the code is now.
func (w *watchdog) look(e *watched) string {
	stack := w.stack(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Stack = stack
	return stack
}
