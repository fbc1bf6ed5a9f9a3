package turn

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// maxFastTurns is how many fast turns an execution makes in a row while others wait for a slot.
const maxFastTurns = 16

// results is a turn of results that attempts of this node handed off. Its commit completes their tasks. If a message waits in the inbox, or
// the turn is not stored, the results go to the inbox. If it was stored after all, their tasks are gone and the reports change nothing.
type results struct {
	run

	ts        *Turns
	all       []*task.Result
	completes []provider.TaskCompletion
}

func (ts *Turns) newResults(a *actor, all []*task.Result) *results {
	re := &results{ts: ts, all: all}
	re.of, re.a = re, a
	return re
}

func (re *results) admit(working context.Context) bool {
	if re.allowed(working) {
		return true
	}
	re.ts.claimEnd(&re.run)
	re.ts.router.giveBack(working, re.all)
	return false
}

// allowed reports whether the turn may be made, and takes its slot. After many fast turns in a row the execution yields to turns that
// wait in the storage.
func (re *results) allowed(working context.Context) bool {
	ts, a := re.ts, re.a
	switch {
	case a.x == nil, !ts.Accepting():
		return false
	case a.readyAt != 0 && a.readyAt <= ts.Clock.Now(), ts.actors.hasArrived(a):
		return false
	case a.fast >= maxFastTurns && ts.queued.Load():
		return false
	}
	since := re.all[0].ArrivedAt
	if a.committed.After(since) {
		since = a.committed
	}
	return ts.takeSlot(working, &re.run, handOffTimeout-time.Since(since))
}

func (re *results) play(working context.Context) (running map[int64]*local.Attempt, err error) {
	re.ts.reporter.began(&re.run, observe.FromMemory)
	if !re.began.IsZero() {
		re.waited = re.began.Sub(re.all[0].ArrivedAt)
	}
	re.ts.begin(&re.run, re.a.x)
	if re.completes, err = re.deliver(); err != nil {
		return nil, err
	}
	return re.ts.locals.Run(working, re.a.x, &re.locals)
}

// deliver applies the results and runs the code. It returns the tasks that the commit completes.
func (re *results) deliver() ([]provider.TaskCompletion, error) {
	ts, a := re.ts, re.a
	now := int64(ts.Clock.Now())
	completes := make([]provider.TaskCompletion, 0, len(re.all))
	for _, res := range re.all {
		e := history.Event{At: now, Body: res.Body}
		ts.anchorer.message(&re.run, a.x, &e)
		if _, err := a.x.Absorb(e); err != nil {
			return nil, err
		}
		ts.anchorer.keep(&re.run, a.x)
		completes = append(completes, provider.TaskCompletion{EventID: res.Attempt.Ref.EventID, Token: res.Attempt.Token})
	}
	return completes, a.x.Continue(now)
}

func (re *results) complete(_ context.Context, t *prepared) bool {
	t.Request.Completes = re.completes
	if t.Request.Status != provider.StatusRunning || t.Request.Next != nil || len(t.Request.CancelTimers) > 0 { // a claim ahead is useless now
		if t.claim = re.ts.claims.Drop(re.a.key); t.claim != nil {
			t.Request.Lease = t.claim.Token
		}
	}
	return true
}

func (re *results) store(working context.Context, t *prepared) (res provider.CommitTurnResult, stored bool, err error) {
	return re.ts.committer.commit(working, re.a, t)
}

func (re *results) confirmed(*prepared) {
	re.ts.Count.TurnsFast.Add(1)
	re.a.fast++
	for _, done := range re.all {
		re.ts.Manage.Remove(&done.Attempt.Attempt)
		done.Stored(re.ts.Node)
	}
}

func (re *results) refused(working context.Context, err error, _ bool) {
	if errors.Is(err, provider.ErrConflict) {
		re.ts.Count.TurnsConflicted.Add(1)
		re.ts.reporter.failed(&re.run, observe.Conflict)
	}
	re.giveBack(working)
}

// failed sends the results to the inbox. The turn of those messages will show the failure.
func (re *results) failed(working context.Context, err error) {
	if !errors.Is(err, replay.ErrOneByOne) {
		re.giveBack(working)
		return
	}
	re.ts.evictor.evict(re.a)
	re.ts.router.giveBack(working, re.all)
	re.ts.actors.setRetries(re.a.key, re.ts.actors.retriesOf(re.a.key).SetOneByOne()) // which only this node knows, so the instance stays pinned to it
}

func (re *results) giveBack(working context.Context) {
	re.ts.evictor.evict(re.a)
	re.ts.router.giveBack(working, re.all)
	re.ts.evictor.unpin(working, re.a)
}

// abandoned sends the results to the inbox. The deadlock is not counted, because there is no lease to count it on: the code may be tried once
// more than deadlockStrikes allows.
func (re *results) abandoned(working context.Context, _ *stuckTurn) {
	re.ts.router.giveBack(working, re.all)
}
