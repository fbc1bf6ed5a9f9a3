package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// maxClosingRounds is how often a closing turn is made again because messages came
// meanwhile, before these are moved to the dead letters.
const maxClosingRounds = 3

// commitFetched stores a fetched turn and goes on from what the storage says.
func (d *Dispatcher) commitFetched(working context.Context, a *actor, r *run, x *replay.Execution) (handed *attempt) {
	turn := x.Turn()
	t := d.newTranslation(a, x, turn, r.takeGoing())
	defer d.revoke(working, t)
	d.translate(t, a, x, turn)
	t.req.Lease, t.req.Ahead = r.token, r.ahead
	t.req.Consumed = consumed(r, turn.End)
	d.count.messagesDropped.Add(int64(len(t.req.Consumed) - r.seen)) // what came behind the end and is no event
	if turn.End != nil && turn.End.Next == nil &&
		(d.actors.closingRounds(a.key) >= maxClosingRounds || len(t.req.Consumed) < len(r.turn.Messages)) {
		t.req.CloseInbox = "the instance ended before it read the message"
	}
	res, err := d.commitOf(working, a, t)
	if err == nil {
		a.fast = 0
		if t.req.CloseInbox != "" {
			t.buried = buriedEvents(r.turn.Messages, t.req.Consumed)
		}
		return d.committed(working, a, x, turn, t, res)
	}
	d.revoke(working, t)
	switch {
	case errors.Is(err, provider.ErrConflict):
		d.count.turnsConflicted.Add(1)
		d.actors.settled(a.key)
		d.evict(a)
		d.release(working, r, provider.TurnRelease{})
	case errors.Is(err, provider.ErrInboxNotEmpty):
		d.actors.closingRound(a.key)
		d.evict(a)
		d.release(working, r, provider.TurnRelease{})
	case errors.Is(err, provider.ErrTooLarge), errors.Is(err, provider.ErrInvalid):
		d.turnFailed(working, a, r, err)
	default:
		d.turnFailed(working, a, r, &storageError{err})
	}
	return nil
}

// consumed names the messages that the turn has dealt with. One that had enough leaves
// the rest for the next. An ended execution leaves events that it did not come to for the dead letters; one that continues as new leaves all
// messages that are not answers to itself for its successor.
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
func (d *Dispatcher) committed(
	working context.Context, a *actor, x *replay.Execution, turn replay.Turn, t *translation, res provider.CommitTurnResult,
) (handed *attempt) {
	d.clock.Set(res.Now)
	d.count.turnsCommitted.Add(1)
	x.Confirm()
	a.version, a.readyAt = t.req.Commit, res.ReadyAt
	if t.req.Sticky > 0 {
		d.actors.sticks(a) // the commit may have taken its time
		if d.stopping.Load() {
			d.letGo(working, a.key)
		}
	}
	for i := range t.req.Sends {
		d.actors.sentTo(t.req.Sends[i].Key)
	}
	for _, event := range t.cancelled {
		d.manage.Cancel(taskRef(a.key, t.req.Execution, event), errCancelled)
	}
	d.manage.Heard(a.key, t.req.Execution, turn.Events)
	if turn.End != nil {
		d.tellLeft(x, t.buried)
		d.actors.settled(a.key)
		if turn.Pending > 0 {
			d.manage.CancelExecution(a.key, t.req.Execution, errOrchestrationEnded)
		}
		d.evict(a)
	}
	t.early, t.going = nil, nil
	d.count.tasksHandedOff.Add(int64(len(t.handOffs)))
	for len(t.handOffs) > 0 {
		h := t.handOffs[0]
		t.handOffs = t.handOffs[1:]
		if len(t.handOffs) == 0 {
			return h
		}
		d.startAttempt(working, h)
	}
	return nil
}

// commitOf stores a turn of an actor, whose results wait meanwhile.
func (d *Dispatcher) commitOf(working context.Context, a *actor, t *translation) (provider.CommitTurnResult, error) {
	d.actors.commits(a, true)
	defer d.actors.commits(a, false)
	return d.commit(working, t)
}

// commit stores a turn. What may or may not have been stored is tried again with the same
// commit ID until that is known, for as long as half a lease.
func (d *Dispatcher) commit(working context.Context, t *translation) (provider.CommitTurnResult, error) {
	deadline := time.Now().Add(d.cfg.Lease / 2)
	for failures := 1; ; failures++ {
		before := t.unknown
		t.unknown = true                                           // until the call has returned, which it does not if the provider panics
		res, err := d.store.CommitTurn(d.calling.Context(), t.req) //nolint:contextcheck // it ends with working
		d.lookEarly(working)
		if err == nil {
			return res, nil
		}
		t.unknown = before || provider.OutcomeOf(err) != provider.OutcomeNothing
		if storage.Refused(err) {
			return res, err
		}
		d.store.Failed("commit turn", failures, err)
		if time.Now().After(deadline) || !storage.Pause(working, storage.Backoff(failures)) {
			return res, err
		}
	}
}

// revoke releases what the translation still holds: slots, local attempts and a turn that was claimed ahead. That is all of it if the commit failed or
// panicked, and nothing after committed. If the commit may have been stored, the tasks that it leased to this node are
// released by the tokens chosen for them.
func (d *Dispatcher) revoke(working context.Context, t *translation) {
	handOffs, going, early := t.handOffs, t.going, t.early
	t.handOffs, t.going, t.early = nil, nil, nil
	d.tasks.Release(len(handOffs))
	for _, local := range going {
		d.orphan(local, errLeaseLost)
	}
	if early != nil {
		d.refuse(working, []job{*early})
	}
	if !t.unknown {
		return
	}
	for _, h := range handOffs {
		d.work.Add()
		go func() {
			defer d.work.Done()
			d.store.Report(working, provider.TaskReport{
				TaskRef: h.Ref, Token: h.Token, Attempt: h.stored(), Outcome: provider.TaskRelease,
			})
		}()
	}
}
