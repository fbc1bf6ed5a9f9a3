package turn

import (
	"context"

	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/fastpath"
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

// step makes the turn of jobs. It returns the attempt that the turn has handed off, and reports
// whether the goroutine continues with the actor.
func (ts *Turns) step(working context.Context, a *actor, jobs []job) (handed *task.Attempt, more bool) {
	if jobs[0].turn != nil {
		r := newRun(a, jobs[0], nil)
		return ts.finished(working, a, r, func() *task.Attempt { return ts.fetchedTurn(working, a, r) })
	}
	results := ts.ofExecution(working, a, jobs)
	if len(results) == 0 {
		return nil, true
	}
	r := newRun(a, job{}, results)
	return ts.finished(working, a, r, func() *task.Attempt { return ts.fastTurn(working, a, r) })
}

// finished makes a turn and ends it, whether it returns or not. It returns what step returns.
func (ts *Turns) finished(working context.Context, a *actor, r *run, turn func() *task.Attempt) (handed *task.Attempt, more bool) {
	back := false
	defer func() { more = ts.finish(working, a, r, recover(), back) }()
	handed = turn()
	back = true
	return handed, more
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
