package turn

import (
	"context"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/fast"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/platform/timelimit"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// maxRetries is of how many instances a node remembers turns that must be made again.
const maxRetries = 10_000

// committer stores turns.
type committer struct {
	*core.Node

	actors   *actors
	attempts attempts
	locals   *local.Worker
	evictor  *evictor
	unpinner *fast.Unpinner
	router   *resultRouter
	claims   *fast.Claims
	reporter reporter
	calling  *timelimit.Shared // deadline of commits
}

// committed applies a confirmed commit. It starts the attempts that the commit handed off, except the last one, which it returns for this
// goroutine to run; nil: none.
func (c *committer) committed(
	working context.Context, a *actor, r *run, x *replay.Execution, t *prepared, res provider.CommitTurnResult,
) (handed *task.Attempt) {
	turn := &t.Turn
	c.Clock.Set(res.Now)
	c.Count.TurnsCommitted.Add(1)
	for _, n := range r.dropped {
		if n > 0 {
			c.Count.MessagesDropped.Add(n)
		}
	}
	x.Confirm()
	if a.outcomesOf == x {
		a.outcomes.Keep(t.Kept)
	}
	c.reporter.stored(r, x.View(), *turn)
	if turn.State != nil {
		c.Count.StateRefused.Add(int64(turn.State.Refused))
	}
	c.Count.FiguresLost.Add(int64(turn.Lost))
	c.Count.EventHandlersFailed.Add(int64(turn.Failed))
	c.Count.HandlersLate.Add(int64(turn.Late))
	if n := turn.Headers + t.LeftOut; n > 0 {
		c.Count.HeadersLeftOut.Add(int64(n))
		c.Config.Logger.Warn("headers left out: the execution or the turn has too many", "instance", x.View().Info().ID, "count", n)
	}
	a.version, a.readyAt = t.Request.Commit, res.ReadyAt
	if t.Request.Sticky > 0 {
		c.actors.notePin(a) // the commit may have taken long
		if !c.Accepting() {
			c.unpinner.Unpin(working, a.key)
		}
	}
	for i := range t.Request.Sends {
		c.actors.sentTo(t.Request.Sends[i].Key)
	}
	for _, event := range t.Cancelled {
		c.Manage.Cancel(task.Ref(a.key, t.Request.Execution, event), activity.ErrCancelled)
	}
	c.Manage.CancelCompleted(a.key, t.Request.Execution, turn.Events)
	if turn.End != nil {
		c.reportLeftovers(x.View(), t.deadLetters)
		c.actors.setRetries(a.key, engine.Retries{})
		if turn.Pending > 0 {
			c.Manage.CancelExecution(a.key, t.Request.Execution, activity.ErrOrchestrationEnded)
		}
		c.evictor.evict(a)
	}
	t.claim = nil
	c.Count.TasksHandedOff.Add(int64(len(t.handOffs) + len(t.handedLocals)))
	for len(t.handedLocals) > 0 {
		h := t.handedLocals[0]
		t.handedLocals = t.handedLocals[1:]
		c.locals.ContinueAsTask(working, h)
	}
	for len(t.handOffs) > 0 {
		h := t.handOffs[0]
		t.handOffs = t.handOffs[1:]
		if len(t.handOffs) == 0 {
			return h
		}
		c.attempts.Start(working, h)
	}
	return nil
}

// commit stores a turn of an actor. Results for the actor wait meanwhile. If the outcome is unknown, it retries with
// the same commit ID for at most half a lease. The result stored reports whether the turn may be stored.
func (c *committer) commit(working context.Context, a *actor, t *prepared) (res provider.CommitTurnResult, stored bool, err error) {
	c.actors.commits(a, true)
	defer c.actors.commits(a, false)
	deadline := time.Now().Add(c.Config.Lease / 2)
	for failures := 1; ; failures++ {
		began := c.Watch.Begins()
		res, err = c.Store.CommitTurn(c.calling.Context(), t.Request) //nolint:contextcheck // it ends with working
		c.Watch.Called("commit turn", began, err)
		c.claims.BeginDueNow(working)
		if err == nil {
			return res, true, nil
		}
		stored = stored || provider.OutcomeOf(err) != provider.OutcomeNothing
		if storage.Refused(err) {
			return res, stored, err
		}
		c.Store.Failed("commit turn", failures, err)
		if time.Now().After(deadline) || !storage.Pause(working, storage.Backoff(failures)) {
			return res, stored, err
		}
	}
}

// rollBack releases what the prepared commit still holds: slots, local attempts and a claim ahead. After committed it holds nothing. If the
// turn may be stored, the tasks that it leased to this node are released by their tokens.
func (c *committer) rollBack(working context.Context, t *prepared, stored bool) {
	handOffs, locals, claim := t.handOffs, t.handedLocals, t.claim
	t.handOffs, t.handedLocals, t.claim = nil, nil, nil
	c.Tasks.Release(len(handOffs) + len(locals))
	for _, a := range locals {
		c.locals.Detach(a, activity.ErrLeaseLost)
	}
	if claim != nil {
		c.claims.Release(working, claim)
	}
	if !stored {
		return
	}
	for _, a := range handOffs {
		c.attempts.ReleaseUnstarted(working, a)
	}
	for _, a := range locals {
		c.attempts.ReleaseUnstarted(working, a.Attempt)
	}
}
