package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/goroutine"
	"github.com/perdure/perdure/provider"
)

// watchdog keeps the list of user code that should have come back: attempts whose context has
// ended, turns that were given up as stuck, evictions that hang. What is on the list has a
// goroutine that follows it; see follow.
type watchdog struct {
	d         *Dispatcher
	followers sync.WaitGroup
	calls     inFlight // code on the list, and functions of OnInterrupt that run

	mu        sync.Mutex
	all       map[*watched]struct{}
	hooks     map[*watched]int      // functions of OnInterrupt that run
	leaks     map[provider.UUID]int // by instance
	states    map[LeakState]int64   // how much is in each
	recovered int64
	told      bool // that there are too many
	closed    bool // nothing is followed any more
	stopped   chan struct{}

	dump dump
}

// watched is code that may get onto the list: a part of each attempt, turn and eviction.
type watched struct {
	entry // this and the next two are guarded by watchdog.mu

	came      bool          // it has come back, maybe before it was looked for
	gone      chan struct{} // closed then; nil while it is not on the list
	goroutine atomic.Uint64 // its number, as stacks name it
}

// entry is what the list has on it.
type entry struct {
	LeakedWork
	key       provider.UUID
	interrupt func(attempt int, start func(call func())) // nil: there is no way to
	leave     func()                                     // ends what else ends with the grace period; may be nil
}

func newWatchdog(d *Dispatcher) *watchdog {
	return &watchdog{
		d: d, all: make(map[*watched]struct{}), hooks: make(map[*watched]int),
		leaks: make(map[provider.UUID]int), states: make(map[LeakState]int64), stopped: make(chan struct{}),
	}
}

// enter puts code onto the list, once, unless it has come back.
func (w *watchdog) enter(e *watched, what entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.came || e.gone != nil {
		return
	}
	e.gone, e.entry = make(chan struct{}), what
	e.State, e.Since = LeakWatching, time.Now()
	w.all[e] = struct{}{}
	w.states[LeakWatching]++
	w.calls.add()
	if !w.closed {
		w.followers.Go(func() { w.follow(e) })
	}
}

// back takes code that has come back off the list, if it is on it.
func (w *watchdog) back(e *watched) {
	w.mu.Lock()
	e.came = true
	work := e.LeakedWork
	if e.gone == nil {
		w.mu.Unlock()
		return
	}
	close(e.gone)
	delete(w.all, e)
	w.states[work.State]--
	if work.State != LeakWatching {
		w.recovered++
		if w.leaks[e.key]--; w.leaks[e.key] == 0 {
			delete(w.leaks, e.key)
		}
	}
	w.mu.Unlock()
	w.calls.done()
	if work.State != LeakWatching {
		w.d.cfg.Logger.Warn("leaked code has come back", append(work.attributes(), "after", time.Since(work.Since))...)
	}
}

// move changes the state of code on the list; false means that it has come back.
func (w *watchdog) move(e *watched, to LeakState) (LeakedWork, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.came {
		return e.LeakedWork, false
	}
	w.states[e.State]--
	w.states[to]++
	if e.State == LeakWatching {
		w.leaks[e.key]++
	}
	e.State = to
	return e.LeakedWork, true
}

// tooMany answers, once, that more instances than MaxLeaked have leaked code. Instances count,
// since one whose code always hangs must not end one node after the other.
func (w *watchdog) tooMany() (instances int, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	instances = len(w.leaks)
	if limit := w.d.cfg.MaxLeaked; limit == 0 || instances <= limit || w.told {
		return instances, false
	}
	w.told = true
	return instances, true
}

// figures fills in what is on the list, by state.
func (w *watchdog) figures(s *Stats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.LeaksWatched, s.LeaksGivenUp = w.states[LeakWatching], w.states[LeakGaveUp]
	s.LeaksRunning = w.states[LeakLeaked] + s.LeaksGivenUp
	s.LeaksRecovered, s.LeakedInstances = w.recovered, int64(len(w.leaks))
}

// list answers what has not come back, the oldest first, with the stacks of now.
func (w *watchdog) list() []LeakedWork {
	w.mu.Lock()
	entries := slices.Collect(maps.Keys(w.all))
	w.mu.Unlock()
	all := make([]LeakedWork, 0, len(entries))
	for _, e := range entries {
		stack := w.stack(e)
		w.mu.Lock()
		work := e.LeakedWork
		w.mu.Unlock()
		work.Stack = stack
		all = append(all, work)
	}
	slices.SortFunc(all, func(a, b LeakedWork) int { return a.Since.Compare(b.Since) })
	return all
}

// runningHooks tells which functions of OnInterrupt have not returned.
func (w *watchdog) runningHooks() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e, n := range w.hooks {
		names = append(names, fmt.Sprintf("%d functions of activity.OnInterrupt do not return: %s %q of instance %q",
			n, e.Kind, e.Name, e.InstanceID))
	}
	slices.Sort(names)
	return names
}

// wait waits until the list is empty, at most for the given time and ctx.
func (w *watchdog) wait(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return w.calls.wait(ctx)
}

// close ends the following. What has not come back stays on the list.
func (w *watchdog) close() {
	w.mu.Lock()
	w.closed = true
	close(w.stopped)
	w.mu.Unlock()
	w.followers.Wait()
}

// dump is the stacks of what is on the list, kept for a moment: many leaks often come at
// once, and each look stops the world.
type dump struct {
	mu     sync.Mutex
	taken  time.Time
	stacks map[uint64]string
}

const dumpAge = time.Second

// stack answers where the goroutine of code on the list is.
func (w *watchdog) stack(e *watched) string {
	id := e.goroutine.Load()
	w.dump.mu.Lock()
	defer w.dump.mu.Unlock()
	if _, ok := w.dump.stacks[id]; !ok || time.Since(w.dump.taken) > dumpAge {
		ids := w.goroutines()
		w.dump.taken, w.dump.stacks = time.Now(), goroutine.Stacks(ids...)
		for _, id := range ids { // not asked for again, should it have ended
			w.dump.stacks[id] += ""
		}
	}
	return w.dump.stacks[id]
}

func (w *watchdog) goroutines() []uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]uint64, 0, len(w.all))
	for e := range w.all {
		ids = append(ids, e.goroutine.Load())
	}
	return ids
}
