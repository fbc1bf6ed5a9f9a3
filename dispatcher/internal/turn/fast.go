package turn

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// maxFastTurns is how many fast turns an execution makes in a row while others wait for a slot.
const maxFastTurns = 16

// fastTurn makes a turn of results from memory and commits it with their completion. If a message waits in the inbox, the results queue
// behind it.
func (ts *Turns) fastTurn(working context.Context, a *actor, r *run) (handed *task.Attempt) {
	if !ts.canFastTurn(working, a, r) {
		ts.conclude(r)
		ts.courier.giveBack(working, r.results)
		return nil
	}
	ts.reporter.began(r, observe.FromMemory)
	if !r.began.IsZero() {
		r.waited = r.began.Sub(r.results[0].Came)
	}
	ts.begin(r, a.x)
	completes, err := ts.deliverResults(a, r)
	var going map[int64]*local.Attempt
	if err == nil {
		going, err = ts.locals.Run(working, a.x, &r.locals)
	}
	defer ts.locals.DetachAll(going)
	if !ts.conclude(r) {
		return nil
	}
	if err != nil {
		ts.turnFailed(working, a, r, err)
		return nil
	}
	return ts.commitFast(working, a, r, completes, going)
}

// canFastTurn reports whether a fast turn is allowed, and takes its slot. After many fast turns in a row the execution yields to turns that
// wait in the storage.
func (ts *Turns) canFastTurn(working context.Context, a *actor, r *run) bool {
	switch {
	case a.x == nil, ts.Quiet():
		return false
	case a.readyAt != 0 && a.readyAt <= ts.Clock.Now(), ts.actors.hasArrived(a):
		return false
	case a.fast >= maxFastTurns && ts.queued.Load():
		return false
	}
	since := r.results[0].Came
	if a.committed.After(since) {
		since = a.committed
	}
	return ts.takeSlot(working, r, handOffTimeout-time.Since(since))
}

// deliverResults applies the results and runs the code.
func (ts *Turns) deliverResults(a *actor, r *run) ([]provider.TaskCompletion, error) {
	now := int64(ts.Clock.Now())
	completes := make([]provider.TaskCompletion, 0, len(r.results))
	for _, res := range r.results {
		e := history.Event{At: now, Body: res.Body}
		ts.anchorer.message(r, a.x, &e)
		if _, err := a.x.Absorb(e); err != nil {
			return nil, err
		}
		ts.anchorer.keep(r, a.x)
		completes = append(completes, provider.TaskCompletion{EventID: res.Attempt.Ref.EventID, Token: res.Attempt.Token})
	}
	return completes, a.x.Continue(now)
}

// commitFast stores a fast turn. If that fails, the execution is evicted and the results go to the inbox. If the turn was stored after all,
// their tasks are gone and the reports change nothing.
func (ts *Turns) commitFast(
	working context.Context, a *actor, r *run, completes []provider.TaskCompletion, going map[int64]*local.Attempt,
) (handed *task.Attempt) {
	turn, stored := a.x.Turn(), false
	t := ts.translator.begin(a, r, a.x, turn, going)
	defer func() { ts.committer.rollBack(working, t, stored) }()
	ts.translator.translate(t, a, a.x, turn)
	t.req.Completes = completes
	if t.req.Status != provider.StatusRunning || t.req.Next != nil || len(t.req.CancelTimers) > 0 { // a claim ahead is useless now
		if t.early = ts.claims.Drop(a.key); t.early != nil {
			t.req.Lease = t.early.Token
		}
	}
	stored = true // until commit returns: the provider may panic
	res, stored, err := ts.committer.commit(working, a, t)
	if err != nil {
		ts.committer.rollBack(working, t, stored)
		if errors.Is(err, provider.ErrConflict) {
			ts.Count.TurnsConflicted.Add(1)
			ts.reporter.failed(r, observe.Conflict)
		}
		ts.evictor.evict(a)
		ts.courier.giveBack(working, r.results)
		ts.evictor.unpin(working, a)
		return nil
	}
	ts.Count.TurnsFast.Add(1)
	a.fast++
	for _, done := range r.results {
		ts.Manage.Remove(&done.Attempt.Attempt)
		done.Stored(ts.Watch)
	}
	return ts.committer.committed(working, a, r, a.x, turn, t, res, nil)
}
