package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/pprof"

	"github.com/perdure/perdure/dispatcher/internal/fast"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/provider"
)

// drive makes the turns of an actor until it has no jobs. It then runs the attempt that the last turn handed off, and makes the turn of its
// result: a chain stays on one goroutine. A goroutine for each step would cost more than the step, because it wakes a thread and its stack
// must grow. Code that is unwound, calls Goexit or binds the goroutine to its thread keeps the goroutine. Another one then continues.
//
// handed is an attempt that the actor's last turn has handed off; it may be nil.
func (ts *Turns) drive(working context.Context, a *actor, handed *task.Attempt) {
	growStack(-1)
	for a != nil {
		a, handed = ts.proceed(working, a, handed)
	}
}

// Deliver takes a result, unless it is nil, and continues its execution on another goroutine.
func (ts *Turns) Deliver(working context.Context, r *task.Result) {
	if next := ts.router.take(working, r); next != nil {
		go ts.drive(working, next, nil)
	}
}

// Follow takes a result, unless it is nil, and continues its execution on this goroutine.
func (ts *Turns) Follow(working context.Context, r *task.Result) {
	ts.drive(working, ts.resume(working, r), nil)
}

// SentTo notes that this node has sent a message to an instance.
func (ts *Turns) SentTo(key provider.UUID) { ts.actors.sentTo(key) }

// enqueue gives a job to the instance's actor and starts it unless it is busy.
func (ts *Turns) enqueue(working context.Context, key provider.UUID, j job) {
	if _, idle := ts.actors.enlist(key, j, true); idle != nil {
		go ts.drive(working, idle, nil)
	}
}

// beginClaimed makes the turn that was claimed ahead and is due.
func (ts *Turns) beginClaimed(working context.Context, c *fast.Claim) {
	ts.enqueue(working, c.Key(), job{turn: c.Turn, token: c.Token, ahead: true})
}

// proceed makes one turn of an actor, or runs the attempt if there is no job. It returns the arguments of the next call.
func (ts *Turns) proceed(working context.Context, a *actor, handed *task.Attempt) (next *actor, then *task.Attempt) {
	jobs, evict := ts.actors.next(a)
	ts.evictor.discard(working, evict)
	if len(jobs) > 0 {
		if handed != nil {
			ts.attempts.Start(working, handed)
		}
		if handed, more := ts.step(working, a, jobs); more {
			return a, handed
		}
		return nil, nil
	}
	// From here on another goroutine may drive the actor.
	if handed == nil {
		ts.Work.Done()
		return nil, nil
	}
	if ts.Config.Off.Has(fastpath.Chain) {
		ts.attempts.Start(working, handed)
		ts.Work.Done()
		return nil, nil
	}
	ctx := ts.attempts.Begin(working, handed) // before Done: the node must not look idle in between
	ts.Work.Done()
	if ctx == nil {
		return nil, nil
	}
	return ts.resume(working, ts.attempts.Run(working, ctx, handed)), nil
}

// resume takes a result, unless it is nil, and returns the actor that the goroutine drives next; nil: none.
func (ts *Turns) resume(working context.Context, r *task.Result) (next *actor) {
	if next = ts.router.take(working, r); next != nil {
		pprof.SetGoroutineLabels(working) // drops the labels that the activity has set
	}
	return next
}

// step makes the turn of jobs. It returns the attempt that the turn has handed off, and reports
// whether the goroutine continues with the actor.
func (ts *Turns) step(working context.Context, a *actor, jobs []job) (handed *task.Attempt, more bool) {
	if jobs[0].turn != nil {
		return ts.makeTurn(working, &ts.newFetched(a, jobs[0]).run)
	}
	all := ts.ofExecution(working, a, jobs)
	if len(all) == 0 {
		return nil, true
	}
	return ts.makeTurn(working, &ts.newResults(a, all).run)
}

// ofExecution returns the results of the jobs and stops their timeouts. A result for another execution than the cached one goes to the
// inbox, where the storage decides about it.
func (ts *Turns) ofExecution(working context.Context, a *actor, jobs []job) []*task.Result {
	results := make([]*task.Result, 0, len(jobs))
	for _, j := range jobs {
		if timer := j.result.Timeout.Load(); timer != nil {
			timer.Stop()
		}
		if a.x != nil && j.result.Attempt.Ref.Execution != a.x.View().Info().Execution {
			ts.router.giveBack(working, []*task.Result{j.result})
			continue
		}
		results = append(results, j.result)
	}
	return results
}

// makeTurn makes a turn and ends it, whether it returns or not. It returns the attempt that the turn has handed off, and
// reports whether the goroutine continues with the actor.
func (ts *Turns) makeTurn(working context.Context, r *run) (handed *task.Attempt, more bool) {
	back := false
	defer func() { more = ts.finish(working, r, recover(), back) }()
	handed = ts.turn(working, r)
	back = true
	return handed, more
}

// finish ends every turn, even if user code called Goexit or the engine panicked. Both only fail the turn. It reports whether the goroutine
// continues with the actor.
func (ts *Turns) finish(working context.Context, r *run, panicked any, back bool) (more bool) {
	going := ts.claimEnd(r)
	if r.state.Load() == runStuck {
		ts.evictor.close(r.x.Load()) // unwinds other parked code
		ts.Watchdog.Returned(&r.watched)
		return false
	}
	switch {
	case panicked != nil:
		r.of.failed(working, fmt.Errorf("engine panicked: %v\n%s", panicked, debug.Stack()))
	case going:
		err := errors.New("turn ended by runtime.Goexit")
		if r.a.x != nil && r.a.x.View().Fault() != nil {
			err = r.a.x.View().Fault()
		}
		r.of.failed(working, err)
	}
	if r.slot {
		ts.slots.Release(1)
	}
	if r.suspect {
		ts.Suspects.Done()
	}
	if !back {
		go ts.drive(working, r.a, nil)
	}
	return back
}

// stackRoom is the stack that a commit needs in SQLite, which is translated from C.
const stackRoom = 20 << 10

// growStack grows the stack of a new goroutine at once, while it is nearly empty. Otherwise it would grow, and be copied, several times
// during the commit. The frame of this function does it; the array is never used.
//
//go:noinline
func growStack(use int) byte { //nolint:unparam // without a result there would be no array
	if use < 0 {
		return 0
	}
	var room [stackRoom]byte
	return room[use]
}
