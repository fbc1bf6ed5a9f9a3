package turn

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/fast"
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

// errNotEager stops a first turn that needs a stored instance.
var errNotEager = errors.New("the turn needs a stored instance")

// eager is the first turn of an instance that is not stored yet. Code has no effects except through the commit, so a turn that is not
// committed has none.
type eager struct {
	run  *run
	ctx  context.Context //nolint:containedctx // of the caller, which waits
	req  provider.CreateRequest
	code atomic.Pointer[time.Time] // since when the code runs; nil: it has not begun
	left chan struct{}             // closed when the turn was abandoned
	done chan eagerOutcome         // gets one when the turn is over
}

// eagerOutcome holds the results of start.
type eagerOutcome struct {
	res provider.CreateResult
	ok  bool
	err error
}

// start makes the first turn of an instance and stores the instance with it, in one commit. If ok is false, nothing was stored: the node is
// busy, the turn needs a stored instance, or its code failed or is stuck. The caller then creates the instance the ordinary way.
func (s *starter) start(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	e := s.begin(ctx, req)
	if e == nil {
		return res, false, nil
	}
	select {
	case o := <-e.done:
		return o.res, o.ok, o.err
	case <-e.left:
	case <-ctx.Done():
		s.turns.abandon(s.Working, e.run, func() {}, func() {}) //nolint:contextcheck // abandoned code belongs to the node
	}
	select {
	case <-e.left:
		if began := e.code.Load(); began != nil {
			s.slowStarts.Took(capability(&req), *began)
		}
		return res, false, nil
	case o := <-e.done: // its commit had begun, which ctx bounds
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
	return s.Config.Orchestrations[of] != nil && s.Config.DeadlockLimit > 0 && !s.slowStarts.Slow(of) && req.EngineLevel <= s.Config.Level.Own() &&
		req.Policy != provider.IDUseExisting && req.Message.Delay == 0 && onlyEvents(req.Messages) && s.Clock.Now() != 0 && !s.Quiet() &&
		s.turns.slots.Free() > s.Config.MaxTurns/2 && s.turns.attempts.Room() > 0
}

func capability(req *provider.CreateRequest) provider.Capability {
	return provider.Capability{Name: req.Name, CodeVersion: req.CodeVersion}
}

// begin starts the turn on its own goroutine. It returns nil if the turn may not start now.
func (s *starter) begin(ctx context.Context, req provider.CreateRequest) *eager {
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
	e := &eager{run: newRun(a, job{}, nil), ctx: ctx, req: req, left: make(chan struct{}), done: make(chan eagerOutcome, 1)}
	e.run.slot, e.run.left = true, e.left
	e.run.waited = observe.NoTime
	s.turns.reporter.began(e.run, observe.FromStart)
	x := replay.New(s.Config.Env, replay.Info{
		ID: req.ID, Key: req.Key, Execution: 1, Name: req.Name, CodeVersion: req.CodeVersion,
	}, s.Config.Orchestrations[capability(&req)])
	x.Speculate()
	a.x = x
	s.turns.begin(e.run, x)
	s.Work.Add()
	go func() { // it outlives the caller
		if handed, more := s.step(s.Working, a, e); more {
			s.turns.drive(s.Working, a, handed)
		}
	}()
	return e
}

// born makes a busy actor for a new instance. It returns nil if the instance has one already.
func (as *actors) born(req *provider.CreateRequest) *actor {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.byKey[req.Key] != nil {
		return nil
	}
	a := &actor{key: req.Key, version: req.Commit, busy: true}
	as.byKey[req.Key] = a
	return a
}

// step makes the turn and stores it, unless it was abandoned.
func (s *starter) step(working context.Context, a *actor, e *eager) (handed *task.Attempt, more bool) {
	growStack(-1)
	return s.turns.finished(working, a, e.run, func() (handed *task.Attempt) {
		var o eagerOutcome
		defer func() { e.done <- o }()
		o, handed = s.turn(working, a, e)
		return handed
	})
}

func (s *starter) turn(working context.Context, a *actor, e *eager) (o eagerOutcome, handed *task.Attempt) {
	if e.run.state.Load() != runGoing {
		return o, nil
	}
	began := time.Now() // not before: the goroutine may have waited for a processor
	e.code.Store(&began)
	err := s.deliverStart(a.x, e.run, &e.req)
	s.slowStarts.Took(capability(&e.req), began)
	if !s.turns.conclude(e.run) {
		return o, nil
	}
	if err != nil {
		s.turns.evictor.evict(a)
		return o, nil
	}
	return s.commit(working, a, e)
}

// onlyEvents reports whether all messages are events.
func onlyEvents(messages []provider.NewMessage) bool {
	return !slices.ContainsFunc(messages, func(m provider.NewMessage) bool { return history.Kind(m.Kind) != history.KindEventReceived })
}

// deliverStart applies the start message and the events that come with it.
func (s *starter) deliverStart(x *replay.Execution, r *run, req *provider.CreateRequest) error {
	now := int64(s.Clock.Now())
	if err := absorb(x, &req.Message, now, s.turns.anchorer.first(r, req)); err != nil {
		return err
	}
	for i := range req.Messages {
		if x.Crowded() {
			return errNotEager
		}
		if err := absorb(x, &req.Messages[i], now, nil); err != nil {
			return err
		}
	}
	err := x.Continue(now)
	if err == nil && (x.Ended() || len(x.Locals()) > 0) {
		err = errNotEager
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
		err = errNotEager
	}
	return err
}

// commit stores the instance with its first turn. If that fails, it evicts the execution.
func (s *starter) commit(working context.Context, a *actor, e *eager) (o eagerOutcome, handed *task.Attempt) {
	x, stored := a.x, false
	turn := x.Turn()
	t := s.turns.translator.begin(a, e.run, x, turn, nil)
	defer func() { s.turns.committer.rollBack(working, t, stored) }()
	s.turns.translator.translate(t, a, x, turn)
	e.req.First = &t.req
	stored = true // until create returns: the provider may panic
	o.res, o.err = s.create(working, a, e)
	o.ok = true
	inst := &o.res.Instance
	if o.err == nil && o.res.Begun {
		s.Count.TurnsEager.Add(1)
		return o, s.turns.committer.committed(working, a, e.run, x, turn, t, provider.CommitTurnResult{Now: o.res.Now, ReadyAt: inst.ReadyAt}, nil)
	}
	if o.err == nil { // a repeat found it, or the provider takes no first turns
		s.Clock.Set(o.res.Now)
		stored = inst.Key == a.key && inst.Version != e.req.Commit
	} else {
		stored = provider.OutcomeOf(o.err) != provider.OutcomeNothing
		o.ok = !errors.Is(o.err, provider.ErrInvalid) && !errors.Is(o.err, provider.ErrTooLarge) // the turn may be at fault
	}
	s.turns.committer.rollBack(working, t, stored)
	s.turns.evictor.evict(a)
	if kept := s.turns.actors.forgetPin(a); kept && stored {
		s.turns.unpinner.Unpin(working, a.key)
	}
	return o, nil
}

// create calls the storage once. If the outcome is unknown, the caller repeats the call, which the storage recognises.
func (s *starter) create(working context.Context, a *actor, e *eager) (provider.CreateResult, error) {
	ctx, cancel := context.WithTimeout(e.ctx, storage.CallTimeout)
	defer cancel()
	defer context.AfterFunc(working, cancel)()
	s.turns.actors.commits(a, true)
	defer s.turns.actors.commits(a, false)
	defer s.turns.claims.BeginDueNow(working)
	return s.Store.Create(ctx, e.req) //nolint:contextcheck // the caller's context
}
