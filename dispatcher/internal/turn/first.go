package turn

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/fast"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// starter starts instances together with their first turn.
type starter struct {
	*core.Node

	turns      *Turns
	slowStarts fast.SlowStarts
}

// errNoFirstTurn stops a first turn that needs a stored instance.
var errNoFirstTurn = errors.New("the turn needs a stored instance")

// first is the first turn of an instance that is not stored yet. Code has no effects except through the commit, so a turn that is not
// committed has none.
type first struct {
	run

	starter  *starter
	ctx      context.Context //nolint:containedctx // of the caller, which waits
	req      provider.CreateRequest
	code     atomic.Pointer[time.Time] // since when the code runs; nil: it has not begun
	givenUp  chan struct{}             // closed when the turn was abandoned
	done     chan started              // gets one when the turn is over
	answered started                   // what it gets
}

// started is what starter.start returns: whether the instance was stored with its first turn, and how.
type started struct {
	res provider.CreateResult
	ok  bool
	err error
}

// start makes the first turn of an instance and stores the instance with it, in one commit. If ok is false, nothing was stored: the node is
// busy, the turn needs a stored instance, or its code failed or is stuck. The caller then creates the instance the ordinary way.
func (s *starter) start(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	f := s.begin(ctx, req)
	if f == nil {
		return res, false, nil
	}
	select {
	case o := <-f.done:
		return o.res, o.ok, o.err
	case <-f.givenUp:
	case <-ctx.Done():
		s.turns.abandon(s.Working, &f.run, nil, func() {}) //nolint:contextcheck // abandoned code belongs to the node
	}
	select {
	case <-f.givenUp:
		if began := f.code.Load(); began != nil {
			s.slowStarts.Took(capability(&req), *began)
		}
		return res, false, nil
	case o := <-f.done: // its commit had begun, which ctx bounds
		return o.res, o.ok, o.err
	}
}

// canStart reports whether a first turn may be made at once. It must not pass waiting turns, and it leaves half of the slots to stored
// instances. While tasks wait here, what begins would make their queue longer; see turnFetcher.room. It needs a deadlock limit: without one
// a start could wait for stuck code for ever.
func (s *starter) canStart(req *provider.CreateRequest) bool {
	if s.Config.Off.Has(fastpath.Eager) || s.Suspects.Settling() {
		return false
	}
	of := capability(req)
	return s.Config.Runs(of) && s.Config.DeadlockLimit > 0 && !s.slowStarts.Slow(of) && req.EngineLevel <= s.Config.Level.Own() &&
		req.Policy != provider.IDUseExisting && req.Message.Delay == 0 && onlyEvents(req.Messages) && s.Clock.Now() != 0 && s.Accepting() &&
		s.turns.slots.Free() > s.Config.MaxTurns/2 && s.turns.attempts.Room() > 0
}

func capability(req *provider.CreateRequest) provider.Capability {
	return provider.Capability{Name: req.Name, CodeVersion: req.CodeVersion}
}

// begin starts the turn on its own goroutine. It returns nil if the turn may not start now.
func (s *starter) begin(ctx context.Context, req provider.CreateRequest) *first {
	s.Fetchers.Add() // like a fetch it brings work, which Shutdown must see
	defer s.Fetchers.Done()
	if !s.canStart(&req) || !s.turns.slots.TryTake() {
		return nil
	}
	a := s.turns.actors.born(&req)
	if a == nil {
		s.turns.slots.Release(1)
		return nil
	}
	f := &first{starter: s, ctx: ctx, req: req, givenUp: make(chan struct{}), done: make(chan started, 1)}
	f.of, f.a, f.slot = f, a, true
	f.waited = observe.NoTime
	s.turns.reporter.began(&f.run, observe.FromStart)
	a.x = replay.New(s.Config.Env, replay.Info{
		ID: req.ID, Key: req.Key, Execution: 1, Name: req.Name, CodeVersion: req.CodeVersion,
	}, s.Config.Orchestration(capability(&req)))
	a.x.Speculate()
	s.turns.begin(&f.run, a.x)
	s.Work.Add()
	go func() { // it outlives the caller
		if handed, more := f.make(s.Working); more {
			s.turns.drive(s.Working, a, handed)
		}
	}()
	return f
}

// make makes the turn and answers the caller.
func (f *first) make(working context.Context) (handed *task.Attempt, more bool) {
	growStack(-1)
	defer func() { f.done <- f.answered }()
	return f.starter.turns.makeTurn(working, &f.run)
}

// born makes a busy actor for a new instance. It returns nil if the instance has one already.
func (as *actors) born(req *provider.CreateRequest) *actor {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.byKey[req.Key] != nil {
		return nil
	}
	a := &actor{key: req.Key, version: req.Commit, busy: true, limit: executionLimit(req.Attributes)}
	as.byKey[req.Key] = a
	return a
}

// admit returns false if the turn was abandoned before its goroutine began. It has its slot.
func (f *first) admit(context.Context) bool { return f.state.Load() == runGoing }

func (f *first) play(context.Context) (running map[int64]*local.Attempt, err error) {
	began := time.Now() // not before: the goroutine may have waited for a processor
	f.code.Store(&began)
	err = f.deliver()
	f.starter.slowStarts.Took(capability(&f.req), began)
	return nil, err
}

// onlyEvents reports whether all messages are events.
func onlyEvents(messages []provider.NewMessage) bool {
	return !slices.ContainsFunc(messages, func(m provider.NewMessage) bool { return history.Kind(m.Kind) != history.KindEventReceived })
}

// deliver applies the start message and the events that come with it, and runs the code.
func (f *first) deliver() error {
	x, req, now := f.a.x, &f.req, int64(f.starter.Clock.Now())
	if err := absorb(x, &req.Message, now, f.starter.turns.anchorer.first(&f.run, req)); err != nil {
		return err
	}
	for i := range req.Messages {
		if x.View().TurnFull() {
			return errNoFirstTurn
		}
		if err := absorb(x, &req.Messages[i], now, nil); err != nil {
			return err
		}
	}
	err := x.Continue(now)
	if err == nil && (x.View().Ended() || len(x.View().Locals()) > 0) {
		err = errNoFirstTurn
	}
	return err
}

// absorb applies a message that is not stored yet, after edit has changed it; nil: it does not.
func absorb(x *replay.Execution, m *provider.NewMessage, now int64, edit func(*history.Event)) error {
	e, err := history.Decode(0, m.Payload)
	if err != nil {
		return err
	}
	e.At = now
	if edit != nil {
		edit(&e)
	}
	applied, err := x.Absorb(e)
	if err == nil && !applied {
		err = errNoFirstTurn
	}
	return err
}

func (f *first) complete(_ context.Context, t *prepared) bool {
	f.req.First = &t.Request
	return true
}

// errNotBegun is the outcome of a turn that the store did not take: a repeat found the instance, or the provider takes no first turns.
var errNotBegun = errors.New("the instance was stored without its first turn")

// store stores the instance with the turn. If the outcome is unknown, the caller repeats the call, which the storage recognises.
func (f *first) store(working context.Context, _ *prepared) (res provider.CommitTurnResult, stored bool, err error) {
	created, err := f.create(working)
	f.answered = started{res: created, ok: true, err: err}
	inst := &created.Instance
	switch {
	case err != nil:
		f.answered.ok = !errors.Is(err, provider.ErrInvalid) && !errors.Is(err, provider.ErrTooLarge) // the turn may be at fault
		return res, provider.OutcomeOf(err) != provider.OutcomeNothing, err
	case !created.Begun:
		f.starter.Clock.Set(created.Now)
		return res, inst.Key == f.a.key && inst.Version != f.req.Commit, errNotBegun
	default:
		return provider.CommitTurnResult{Now: created.Now, ReadyAt: inst.ReadyAt}, true, nil
	}
}

func (f *first) create(working context.Context) (provider.CreateResult, error) {
	ctx, cancel := context.WithTimeout(f.ctx, storage.CallTimeout)
	defer cancel()
	defer context.AfterFunc(working, cancel)()
	ts := f.starter.turns
	ts.actors.commits(f.a, true)
	defer ts.actors.commits(f.a, false)
	defer ts.claims.BeginDueNow(working)
	return ts.Store.Create(ctx, f.req) //nolint:contextcheck // the caller's context
}

func (f *first) confirmed(*prepared) { f.starter.Count.TurnsEager.Add(1) }

func (f *first) refused(working context.Context, _ error, stored bool) {
	ts := f.starter.turns
	ts.evictor.evict(f.a)
	if pinned := ts.actors.forgetPin(f.a); pinned && stored {
		ts.unpinner.Unpin(working, f.a.key)
	}
}

func (f *first) failed(working context.Context, _ error) { f.refused(working, nil, true) }

func (f *first) abandoned(context.Context, *stuckTurn) { close(f.givenUp) }
