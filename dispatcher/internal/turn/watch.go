package turn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
)

// deadlockStrikes is the number of consecutive deadlocks after which an instance is held.
const deadlockStrikes = 3

// Code is in an endless loop if it makes loopCalls calls without effect in loopLimits times the deadlock limit or
// longer. Code that makes progress stays far below both. Nothing of a turn ended that way is stored, so the limits may
// change.
const (
	loopCalls  = 10_000
	loopLimits = 10
)

// The reasons for blocking an instance whose turn was abandoned.
const (
	reasonDeadlock = "deadlock"
	reasonLoop     = "endless-loop"
)

// watch finds turns whose code is stuck, by the monotonic clock. It neither returns nor calls the engine within the deadlock limit, or it
// calls the engine in an endless loop.
type watch struct {
	limit   time.Duration // the deadlock limit
	abandon func(working context.Context, r *run, why *stuckTurn)
	busy    chan struct{} // capacity 1: a run was added
	mu      sync.Mutex
	runs    map[*run]*sample
}

// sample is what the watch last saw of a run, and since when.
type sample struct {
	progress   int64
	since      time.Time
	effects    int64
	calls      int64 // progress when these effects were first seen
	callsSince time.Time
}

func newWatch(limit time.Duration, abandon func(context.Context, *run, *stuckTurn)) *watch {
	return &watch{limit: limit, abandon: abandon, busy: make(chan struct{}, 1), runs: make(map[*run]*sample)}
}

func (w *watch) add(r *run) {
	w.mu.Lock()
	w.runs[r] = &sample{progress: -1, effects: -1}
	w.mu.Unlock()
	select {
	case w.busy <- struct{}{}:
	default:
	}
}

func (w *watch) all() []*run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.runs))
}

func (w *watch) remove(r *run) {
	w.mu.Lock()
	delete(w.runs, r)
	w.mu.Unlock()
}

// run checks the runs while there are any.
func (w *watch) run(working context.Context) {
	for {
		select {
		case <-w.busy:
		case <-working.Done():
			return
		}
		for len(w.all()) > 0 {
			if !storage.Pause(working, w.limit/8) {
				return
			}
			for r, why := range w.stuck(time.Now()) {
				w.abandon(working, r, why)
			}
		}
	}
}

// stuck returns the runs that are stuck, and why.
func (w *watch) stuck(now time.Time) map[*run]*stuckTurn {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found map[*run]*stuckTurn
	for r, s := range w.runs {
		code := r.x.Load().Probe()
		if why := s.check(code.Progress(), code.Effects(), now, w.limit); why != nil && code.InCode() {
			if found == nil {
				found = make(map[*run]*stuckTurn)
			}
			found[r] = why
		}
	}
	return found
}

// check compares a run with the sample and updates it. The result is nil unless the run is stuck.
func (s *sample) check(progress, effects int64, now time.Time, limit time.Duration) *stuckTurn {
	if effects != s.effects {
		s.effects, s.calls, s.callsSince = effects, progress, now
	}
	if progress == s.progress {
		if now.Sub(s.since) < limit {
			return nil
		}
		return &stuckTurn{
			reason: reasonDeadlock, log: "turn is stuck: orchestration code blocks outside of the engine",
			message: fmt.Sprintf("code ran for %v without a call into the engine", limit),
		}
	}
	s.progress, s.since = progress, now
	if calls, took := progress-s.calls, now.Sub(s.callsSince); calls >= loopCalls && took >= loopLimits*limit {
		return &stuckTurn{
			reason: reasonLoop, log: "turn is stuck: orchestration code calls the engine in an endless loop",
			message: fmt.Sprintf("code called the engine %d times in %v and waited for nothing; let the loop block, in Receive or Sleep for example, or end",
				calls, took.Round(time.Millisecond)),
		}
	}
	return nil
}

// stuckTurn is the reason why a turn is abandoned.
type stuckTurn struct{ reason, message, log, stack string }

// abandonStuck abandons a stuck turn and blocks its instance.
func (ts *Turns) abandonStuck(working context.Context, r *run, why *stuckTurn) {
	x := r.x.Load()
	stack := x.Probe().Stack()
	counted := func() { // first, so that the caller of a start and a reader of the Blocked instance see the count
		ts.Count.TurnsFailed.Add(1)
		ts.Count.TurnsStuck.Add(1)
	}
	why.stack = stack
	if stack == "" || !ts.abandon(working, r, why, counted) {
		return
	}
	info := x.View().Info()
	ts.Config.Logger.Error(why.log, "instance", info.ID,
		"orchestration", info.Name, "reason", why.reason, "limit", ts.Config.DeadlockLimit, "stack", stack)
}

// abandon ends a turn in place of its goroutine: it calls count and releases what the turn holds. The goroutine ends at its next call into
// the engine. If why is nil, the code is not at fault. abandon returns false if the turn was faster.
func (ts *Turns) abandon(working context.Context, r *run, why *stuckTurn, count func()) bool {
	x := r.x.Load()
	if !ts.end(r, runStuck) {
		return false
	}
	count()
	x.Probe().Abandon()
	r.locals.Cancel(activity.ErrLeaseLost)
	ts.evictor.watchCode(&r.watched, leak.Turn, x, r.info, "its turn was given up")
	waiting := ts.actors.abandon(r.a)
	ts.Work.Add()
	go func() {
		defer ts.Work.Done()
		ts.evictor.unpin(working, r.a)
		ts.router.refuse(working, waiting)
		if why != nil {
			ts.reporter.failed(r, observe.Stuck)
		}
		r.of.abandoned(working, why)
		if r.suspect {
			ts.Suspects.Done()
		}
	}()
	if r.slot {
		ts.slots.Release(1)
	}
	ts.Work.Done()
	return true
}

// begin registers code that is about to run with the watch.
func (ts *Turns) begin(r *run, x *replay.Execution) {
	r.info = x.View().Info()
	r.x.Store(x)
	ts.watch.add(r)
	ts.Count.TurnsRunning.Add(1)
}

// claimEnd ends a run. It returns false if the watch was faster: then the caller must not touch the actor any more.
func (ts *Turns) claimEnd(r *run) bool {
	return ts.end(r, runEnded)
}

func (ts *Turns) end(r *run, state int32) bool {
	if !r.state.CompareAndSwap(runGoing, state) {
		return false
	}
	if r.x.Load() != nil {
		ts.watch.remove(r)
		ts.Count.TurnsRunning.Add(-1)
	}
	return true
}
