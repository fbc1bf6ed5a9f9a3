package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/timelimit"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// maxClosingRounds is how often a closing turn is made again because messages came
// meanwhile, before these are moved to the dead letters.
const maxClosingRounds = 3

// committer stores turns.
type committer struct {
	*node

	actors   *actors
	attempts attempts
	locals   *localWorker
	evictor  *evictor
	unpinner *unpinner
	courier  *courier
	claims   *claims
	calling  *timelimit.Shared // deadline of commits
}

// commitFetched stores a fetched turn and goes on from what the storage says.
func (ts *turns) commitFetched(working context.Context, a *actor, r *run, x *replay.Execution) (handed *attempt) {
	turn := x.Turn()
	t := ts.translator.begin(a, x, turn, r.takeGoing())
	defer ts.committer.revoke(working, t)
	ts.translator.translate(t, a, x, turn)
	t.req.Lease, t.req.Ahead = r.token, r.ahead
	t.req.Consumed = consumed(r, turn.End)
	ts.count.messagesDropped.Add(int64(len(t.req.Consumed) - r.seen)) // what came behind the end and is no event
	if turn.End != nil && turn.End.Next == nil &&
		(ts.actors.closingRounds(a.key) >= maxClosingRounds || len(t.req.Consumed) < len(r.turn.Messages)) {
		t.req.CloseInbox = "the instance ended before it read the message"
	}
	res, err := ts.committer.commitOf(working, a, t)
	if err == nil {
		a.fast = 0
		if t.req.CloseInbox != "" {
			t.buried = buriedEvents(r.turn.Messages, t.req.Consumed)
		}
		return ts.committer.committed(working, a, x, turn, t, res)
	}
	ts.committer.revoke(working, t)
	switch {
	case errors.Is(err, provider.ErrConflict):
		ts.count.turnsConflicted.Add(1)
		ts.actors.settled(a.key)
		ts.evictor.evict(a)
		ts.release(working, r, provider.TurnRelease{})
	case errors.Is(err, provider.ErrInboxNotEmpty):
		ts.actors.closingRound(a.key)
		ts.evictor.evict(a)
		ts.release(working, r, provider.TurnRelease{})
	case errors.Is(err, provider.ErrTooLarge), errors.Is(err, provider.ErrInvalid):
		ts.turnFailed(working, a, r, err)
	default:
		ts.turnFailed(working, a, r, &storageError{err})
	}
	return nil
}

// consumed names the messages that the turn has dealt with. One that had enough leaves
// the rest for the next. An ended execution leaves events that it did not come to for the dead letters; one that continues as new leaves its successor all
// messages but the replies to itself.
func consumed(r *run, end *replay.End) []int64 {
	ids := make([]int64, 0, len(r.turn.Messages))
	for i := range r.turn.Messages {
		m := &r.turn.Messages[i]
		leave := i >= r.seen && (end == nil || history.Kind(m.Kind) == history.KindEventReceived ||
			end.Next != nil && m.Execution != r.turn.Instance.Execution)
		if !leave {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// committed takes over what the storage confirmed. From here on others may see it. It starts the attempts that the commit handed off, and
// returns the last of them, which the goroutine may run itself; nil: none.
func (c *committer) committed(
	working context.Context, a *actor, x *replay.Execution, turn replay.Turn, t *translation, res provider.CommitTurnResult,
) (handed *attempt) {
	c.clock.Set(res.Now)
	c.count.turnsCommitted.Add(1)
	x.Confirm()
	a.version, a.readyAt = t.req.Commit, res.ReadyAt
	if t.req.Sticky > 0 {
		c.actors.sticks(a) // the commit may have taken its time
		if c.stopping.Load() {
			c.unpinner.unpin(working, a.key)
		}
	}
	for i := range t.req.Sends {
		c.actors.sentTo(t.req.Sends[i].Key)
	}
	for _, event := range t.cancelled {
		c.manage.Cancel(taskRef(a.key, t.req.Execution, event), errCancelled)
	}
	c.manage.Heard(a.key, t.req.Execution, turn.Events)
	if turn.End != nil {
		c.reportLeft(x, t.buried)
		c.actors.settled(a.key)
		if turn.Pending > 0 {
			c.manage.CancelExecution(a.key, t.req.Execution, errOrchestrationEnded)
		}
		c.evictor.evict(a)
	}
	t.early, t.going = nil, nil
	c.count.tasksHandedOff.Add(int64(len(t.handOffs)))
	for len(t.handOffs) > 0 {
		h := t.handOffs[0]
		t.handOffs = t.handOffs[1:]
		switch {
		case h.local != nil:
			c.locals.goOn(working, h)
		case len(t.handOffs) == 0:
			return h
		default:
			c.attempts.start(working, h)
		}
	}
	return nil
}

// commitOf stores a turn of an actor, whose results wait meanwhile.
func (c *committer) commitOf(working context.Context, a *actor, t *translation) (provider.CommitTurnResult, error) {
	c.actors.commits(a, true)
	defer c.actors.commits(a, false)
	return c.commit(working, t)
}

// commit stores a turn. What may or may not have been stored is tried again with the same
// commit ID until that is known, for as long as half a lease.
func (c *committer) commit(working context.Context, t *translation) (provider.CommitTurnResult, error) {
	deadline := time.Now().Add(c.cfg.Lease / 2)
	for failures := 1; ; failures++ {
		before := t.unknown
		t.unknown = true                                           // until the call has returned, which it does not if the provider panics
		res, err := c.store.CommitTurn(c.calling.Context(), t.req) //nolint:contextcheck // it ends with working
		c.claims.beginDueNow(working)
		if err == nil {
			return res, nil
		}
		t.unknown = before || provider.OutcomeOf(err) != provider.OutcomeNothing
		if storage.Refused(err) {
			return res, err
		}
		c.store.Failed("commit turn", failures, err)
		if time.Now().After(deadline) || !storage.Pause(working, storage.Backoff(failures)) {
			return res, err
		}
	}
}

// revoke releases what the translation still holds: slots, local attempts and a turn that was claimed ahead. That is all of it if the commit failed or
// panicked, and nothing after committed. If the commit may have been stored, the tasks that it leased to this node are
// released by the tokens chosen for them.
func (c *committer) revoke(working context.Context, t *translation) {
	handOffs, going, early := t.handOffs, t.going, t.early
	t.handOffs, t.going, t.early = nil, nil, nil
	c.tasks.Release(len(handOffs))
	for _, local := range going {
		c.locals.orphan(local, errLeaseLost)
	}
	if early != nil {
		c.courier.refuse(working, []job{*early})
	}
	if !t.unknown {
		return
	}
	for _, h := range handOffs {
		c.work.Add()
		go func() {
			defer c.work.Done()
			c.store.Report(working, provider.TaskReport{
				TaskRef: h.Ref, Token: h.Token, Attempt: h.stored(), Outcome: provider.TaskRelease,
			})
		}()
	}
}
