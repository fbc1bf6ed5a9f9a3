package turn

import (
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// fetched is a turn of the messages that a fetch brought. It has a lease.
type fetched struct {
	run

	ts    *Turns
	fetch *provider.Turn
	token provider.UUID // of the lease
	ahead bool          // it was claimed ahead
	in    engine.Intake
	// intact is set while the execution is as the last commit left it. It then stays in the cache, although the turn fails.
	intact bool
}

func (ts *Turns) newFetched(a *actor, j job) *fetched {
	f := &fetched{ts: ts, fetch: j.turn, token: j.token, ahead: j.ahead}
	f.of, f.a, f.suspect, f.info = f, a, j.suspect, infoOf(&j.turn.Instance)
	return f
}

func (f *fetched) admit(working context.Context) bool {
	if lostTurns(&f.fetch.Instance) >= f.ts.Config.PoisonLimit {
		f.ts.claimEnd(&f.run)
		f.poisoned(working)
		return false
	}
	// A turn that waited long must not begin under a lease that has nearly expired.
	if !f.ts.takeSlot(working, &f.run, f.ts.Config.Lease/3) {
		f.ts.claimEnd(&f.run)
		f.release(working, provider.TurnRelease{})
		return false
	}
	return true
}

func (f *fetched) play(working context.Context) (running map[int64]*local.Attempt, err error) {
	f.ts.reporter.fetched(&f.run, f.fetch, f.ts.Clock.Now())
	x, err := f.load(working)
	if err == nil {
		err = f.take(working, x)
	}
	if f.ahead {
		f.ts.claims.RunDueTurns(working)
	}
	if err == nil {
		running, err = f.ts.locals.Run(working, x, &f.locals)
	}
	if err == nil {
		err = f.ts.router.endUnstarted(working, x.View(), &f.fetch.Instance, f.in.Unstarted)
	}
	if err == nil {
		f.in.BehindEnd(f.ts.Clock.Now())
	}
	return running, err
}

// take gives the execution the messages and runs its code. What else it needs is read before: after a failed read, the messages can come
// again.
func (f *fetched) take(working context.Context, x *replay.Execution) error {
	f.intact = true
	fetched := engine.Fetched{
		Execution: f.fetch.Instance.Execution, More: f.fetch.More, Retries: f.ts.actors.retriesOf(f.a.key), Anchors: anchors{f.ts.anchorer, &f.run},
	}
	fetched.Messages, fetched.Now = engine.Visible(f.fetch, f.ts.Clock.Now())
	if slices.ContainsFunc(fetched.Messages, engine.IsUpdate) {
		if err := f.readOutcomes(working, x); err != nil {
			return err
		}
		fetched.Outcomes = f.a.outcomes
	}
	var err error
	if fetched.Previous, err = f.readPrevious(working); err != nil {
		return err
	}
	f.intact = false
	if err := f.in.Take(x, fetched); err != nil {
		return err
	}
	held, err := f.in.Run(f.ts.Clock.Now())
	switch {
	case held:
		f.ts.actors.setRetries(f.a.key, f.in.Retries.Hold())
	case err != nil && f.in.Several():
		f.ts.actors.setRetries(f.a.key, f.in.Retries.SetOneByOne()) // so that the next try finds the message at which the code fails
	}
	return err
}

func (f *fetched) complete(working context.Context, t *prepared) bool {
	x, turn := f.a.x, &t.Turn
	t.Request.Lease, t.Request.Ahead, t.Request.Consumed = f.token, f.ahead, f.in.Handled
	switch {
	case turn.End == nil, turn.End.Next != nil:
	case f.in.Retries.Repeated(), f.in.Unread() && !x.View().Together():
		t.Request.CloseInbox = "the instance ended before it read the message"
		t.deadLetters = deadLetterNames(f.in.Messages, t.Request.Consumed)
	case f.in.Unread(): // the store would refuse the end
		f.again(working)
		return false
	}
	if x.View().Held() { // what still waits may be gone by then, and code that was held must run
		t.Request.Timers = append(t.Request.Timers, provider.Timer{
			EventID: x.View().Length(), Kind: provider.MessageKind(history.KindExecutionOpened), Due: f.ts.Clock.Now(),
			Payload: history.Encode(nil, history.Event{Body: &history.ExecutionOpened{}}),
		})
	}
	return true
}

func (f *fetched) store(working context.Context, t *prepared) (res provider.CommitTurnResult, stored bool, err error) {
	return f.ts.committer.commit(working, f.a, t)
}

func (f *fetched) confirmed(t *prepared) {
	f.a.fast = 0
	f.dropped = f.in.Dropped
	if t.Turn.End == nil && !f.a.x.View().Held() {
		f.ts.actors.setRetries(f.a.key, f.in.Retries.AfterTurn(f.in.All()))
	}
}

func (f *fetched) refused(working context.Context, err error, _ bool) {
	switch {
	case errors.Is(err, provider.ErrConflict):
		f.ts.Count.TurnsConflicted.Add(1)
		f.ts.reporter.failed(&f.run, observe.Conflict)
		f.ts.actors.setRetries(f.a.key, engine.Retries{})
		f.ts.evictor.evict(f.a)
		f.release(working, provider.TurnRelease{})
	case errors.Is(err, provider.ErrInboxNotEmpty):
		f.again(working)
	case errors.Is(err, provider.ErrTooLarge), errors.Is(err, provider.ErrInvalid):
		f.failed(working, err)
	default:
		f.failed(working, &core.StorageError{Err: err})
	}
}

// again throws away a turn in which the code ended before it was given all messages. The next turn has them.
func (f *fetched) again(working context.Context) {
	f.ts.actors.setRetries(f.a.key, f.in.Retries.Refused())
	f.ts.evictor.evict(f.a)
	f.release(working, provider.TurnRelease{})
}
