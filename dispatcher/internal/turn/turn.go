package turn

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// origin is what a turn is made of: messages that a fetch brought (fetched), results that attempts of this node handed off (results), or
// the start of an instance that is not stored yet (first). Turns of each origin take the same steps; see [Turns.turn]. An origin adds what
// is its own:
//
//	                fetched                          results                      first
//	not admitted    release the lease                results to the inbox         (has its slot)
//	code fails      block the instance, or release   results to the inbox, unpin  the caller creates the instance without a turn
//	conflict        release, forget refused ends     results to the inbox, unpin  the caller is told
//	inbox not empty release, count a refused end     results to the inbox, unpin  the caller is told
//	refused         block the instance               results to the inbox, unpin  the caller creates the instance without a turn
//	outage, unknown release with a delay             results to the inbox, unpin  the caller creates it again, with the same key
//	panic           as if the code failed, whatever the provider may have stored
//	abandoned       block the instance, or release   results to the inbox         the caller creates the instance without a turn
//
// All of these evict the execution, but for a turn that was not admitted or only failed to read the outcomes of updates. Slots, the tasks
// that a commit leased and a claim ahead are no origin's matter.
type origin interface {
	// admit takes the slot of the turn. If the turn may not begin, admit ends it and returns false.
	admit(working context.Context) bool
	// play gives the execution what the turn is made of, and runs its code and the local activities that it calls. It may never return. It
	// returns the local activities that go on.
	play(working context.Context) (running map[int64]*local.Attempt, err error)
	// complete adds to the commit what only the origin knows. If there is nothing to store, complete ends the turn and returns false.
	complete(working context.Context, t *prepared) bool
	// store stores the turn. The result stored reports whether the store may have it, although there is an error.
	store(working context.Context, t *prepared) (res provider.CommitTurnResult, stored bool, err error)
	// confirmed counts a turn that is stored.
	confirmed(t *prepared)
	// refused ends a turn that store returned an error for.
	refused(working context.Context, err error, stored bool)
	// failed ends a turn whose code failed, or in which the engine or the provider panicked.
	failed(working context.Context, err error)
	// abandoned ends a turn whose code does not return: because of why, or because the node stops if that is nil.
	abandoned(working context.Context, why *stuckTurn)
}

// run is one turn in progress. The turn ends it, or the watch if it is stuck. The first to do so releases the slot and what the origin
// holds.
type run struct {
	seen

	of      origin
	a       *actor
	x       atomic.Pointer[replay.Execution] // set once code may run
	info    replay.Info                      // of x, before its code ran
	state   atomic.Int32
	slot    bool
	suspect bool // it runs alone
	locals  local.Current
	watched leak.Code
}

// The states of a run.
const (
	runGoing int32 = iota
	runEnded
	runStuck // the watch has ended it
)

// takeSlot waits for the turn's slot, for at most the given time.
func (ts *Turns) takeSlot(working context.Context, r *run, limit time.Duration) bool {
	if working.Err() == nil && ts.slots.TryTake() { // without a deadline, which costs an allocation and a timer
		r.slot = true
		return true
	}
	ctx, cancel := context.WithTimeout(working, limit)
	defer cancel()
	r.slot = ts.slots.Take(ctx) == nil
	return r.slot
}

// turn makes one turn: it runs the code, stores what the code has done and acts on the outcome. It returns the attempt that the commit has
// handed off and that this goroutine is to run; nil: none.
func (ts *Turns) turn(working context.Context, r *run) (handed *task.Attempt) {
	if !r.of.admit(working) {
		return nil
	}
	running, err := r.of.play(working)
	defer ts.locals.DetachAll(running)
	if !ts.claimEnd(r) {
		return nil
	}
	if err != nil {
		r.of.failed(working, err)
		return nil
	}
	return ts.store(working, r, running)
}

// store stores what the code has done.
func (ts *Turns) store(working context.Context, r *run, running map[int64]*local.Attempt) (handed *task.Attempt) {
	a, x := r.a, r.a.x
	t, stored := &prepared{runningLocals: running}, false
	defer func() { ts.committer.rollBack(working, t, stored) }()
	ts.preparer.prepare(t, a, r, x)
	if !r.of.complete(working, t) {
		return nil
	}
	stored = true // until store returns: the provider may panic
	res, stored, err := r.of.store(working, t)
	if err != nil {
		if stored { // nobody will learn whether it is
			ts.Count.FiguresLost.Add(int64(len(t.Turn.Figures) + t.Turn.Lost))
		}
		ts.committer.rollBack(working, t, stored)
		r.of.refused(working, err, stored)
		return nil
	}
	r.of.confirmed(t)
	return ts.committer.committed(working, a, r, x, t, res)
}
