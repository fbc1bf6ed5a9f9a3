// Package leak watches user code that should have returned: attempts whose context has ended, abandoned turns and evictions that
// hang. Nothing ends a goroutine from outside, so the watchdog interrupts the code, counts it and reports it.
package leak

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/inflight"
	"github.com/perdure/perdure/provider"
)

// Options of a Watchdog. A zero duration or count switches its step off.
type Options struct {
	GracePeriod          time.Duration // from being told to return until the code counts as leaked
	InterruptInterval    time.Duration // before the first interrupt; doubles
	MaxInterruptInterval time.Duration
	GiveUpAfter          time.Duration       // the end of interrupts
	MaxLeaked            int                 // instances with leaked code
	TooMany              func(instances int) // called once, when MaxLeaked is exceeded
	Logger               *slog.Logger
}

// Watchdog keeps the list of user code that should have returned. Each entry has a goroutine that follows it; see follow. The methods
// may be called from several goroutines at once.
type Watchdog struct {
	options   Options
	followers sync.WaitGroup
	calls     inflight.Count // listed code, and functions of OnInterrupt that run

	mu              sync.Mutex
	all             map[*Code]struct{}
	hooks           map[*Code]int         // functions of OnInterrupt that run
	leaks           map[provider.UUID]int // by instance
	states          map[State]int64       // number of entries in each
	recovered       int64
	tooManyReported bool // TooMany was called
	closed          bool // nothing is followed any more
	stopped         chan struct{}

	dump dump
}

// Code is user code that may get onto the list: a part of each attempt, turn and eviction. The zero value is ready to use.
type Code struct {
	Entry // guarded by Watchdog.mu, as the next two

	returned  bool          // maybe before it was listed
	gone      chan struct{} // closed when it returns; nil while it is not on the list
	goroutine atomic.Uint64
}

// RunsOn names the goroutine of the code by its number; see [goroutine.ID].
func (c *Code) RunsOn(id uint64) { c.goroutine.Store(id) }

// Entry describes code on the list.
type Entry struct {
	Work

	Key       provider.UUID                              // of the instance
	Interrupt func(attempt int, start func(call func())) // nil: there is no way to interrupt it
	Leave     func()                                     // ends what else ends with the grace period; may be nil
}

// New returns a watchdog with an empty list.
func New(o Options) *Watchdog {
	return &Watchdog{
		options: o, all: make(map[*Code]struct{}), hooks: make(map[*Code]int),
		leaks: make(map[provider.UUID]int), states: make(map[State]int64), stopped: make(chan struct{}),
	}
}

// Enter puts code onto the list, once, unless it has returned.
func (w *Watchdog) Enter(c *Code, what Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.returned || c.gone != nil {
		return
	}
	c.gone, c.Entry = make(chan struct{}), what
	c.State, c.Since = Watching, time.Now()
	w.all[c] = struct{}{}
	w.states[Watching]++
	w.calls.Add()
	if !w.closed {
		w.followers.Go(func() { w.follow(c) })
	}
}

// follow carries out the schedule of listed code until the code returns, is given up, or the watchdog is closed.
func (w *Watchdog) follow(c *Code) {
	g := newSchedule(&w.options, c.Interrupt != nil)
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
		"grace_period", w.options.GracePeriod, "stack", w.sampleStack(c))...)
	if instances, is := w.tooMany(); is {
		w.options.TooMany(instances)
	}
}

func (w *Watchdog) giveUp(c *Code) {
	if work, ok := w.move(c, GaveUp); ok {
		w.options.Logger.Error("leaked code given up: its goroutine stays until the process ends", append(work.attributes(),
			"interrupts", work.Interrupts, "stack", w.sampleStack(c))...)
	}
}

// interrupt calls the functions of OnInterrupt.
func (w *Watchdog) interrupt(c *Code) {
	w.mu.Lock()
	c.Interrupts++
	work := c.Work
	w.mu.Unlock()
	if work.State == Leaked {
		w.options.Logger.Warn("leaked code still running", append(work.attributes(), "interrupts", work.Interrupts, "stack", w.sampleStack(c))...)
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

// Returned takes code off the list, if it is on it.
func (w *Watchdog) Returned(c *Code) {
	w.mu.Lock()
	c.returned = true
	work := c.Work
	if c.gone == nil {
		w.mu.Unlock()
		return
	}
	close(c.gone)
	delete(w.all, c)
	w.states[work.State]--
	if work.State != Watching {
		w.recovered++
		if w.leaks[c.Key]--; w.leaks[c.Key] == 0 {
			delete(w.leaks, c.Key)
		}
	}
	w.mu.Unlock()
	w.calls.Done()
	if work.State != Watching {
		w.options.Logger.Warn("leaked code returned", append(work.attributes(), "after", time.Since(work.Since))...)
	}
}

// move changes the state of listed code. It reports whether the code was still running.
func (w *Watchdog) move(c *Code, to State) (Work, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.returned {
		return c.Work, false
	}
	w.states[c.State]--
	w.states[to]++
	if c.State == Watching {
		w.leaks[c.Key]++
	}
	c.State = to
	return c.Work, true
}

// tooMany reports, once, that more instances than MaxLeaked have leaked code. Instances count and not entries: one instance whose
// code always hangs must not end one node after the other.
func (w *Watchdog) tooMany() (instances int, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	instances = len(w.leaks)
	if limit := w.options.MaxLeaked; limit == 0 || instances <= limit || w.tooManyReported {
		return instances, false
	}
	w.tooManyReported = true
	return instances, true
}

// Figures counts the list.
type Figures struct {
	Watched   int64 // within the grace period
	Running   int64 // leaked, given up or not
	GivenUp   int64
	Recovered int64 // returned after the grace period, ever
	Instances int64 // with leaked code
}

// Figures returns the counts of now.
func (w *Watchdog) Figures() Figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Figures{
		Watched: w.states[Watching], Running: w.states[Leaked] + w.states[GaveUp], GivenUp: w.states[GaveUp],
		Recovered: w.recovered, Instances: int64(len(w.leaks)),
	}
}

// List returns the code that still runs, the oldest first, with the stacks of now.
func (w *Watchdog) List() []Work {
	w.mu.Lock()
	entries := slices.Collect(maps.Keys(w.all))
	w.mu.Unlock()
	all := make([]Work, 0, len(entries))
	for _, c := range entries {
		stack := w.stack(c)
		w.mu.Lock()
		work := c.Work
		w.mu.Unlock()
		work.Stack = stack
		all = append(all, work)
	}
	slices.SortFunc(all, func(a, b Work) int { return a.Since.Compare(b.Since) })
	return all
}

// Err returns an error that names all that still runs, functions of OnInterrupt included; nil if nothing does.
func (w *Watchdog) Err() error { return joined(w.List(), w.runningHooks()) }

func (w *Watchdog) runningHooks() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c, n := range w.hooks {
		names = append(names, fmt.Sprintf("%d functions of activity.OnInterrupt do not return: %s %q of instance %q",
			n, c.Kind, c.Name, c.InstanceID))
	}
	slices.Sort(names)
	return names
}

// Wait blocks until the list is empty, the limit has passed or ctx is done. It reports whether the list is empty.
func (w *Watchdog) Wait(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return w.calls.Wait(ctx)
}

// Close ends the goroutines that follow entries. Code that has not returned stays on the list.
func (w *Watchdog) Close() {
	w.mu.Lock()
	w.closed = true
	close(w.stopped)
	w.mu.Unlock()
	w.followers.Wait()
}
