package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// eagerPatience is how long a start waits for the code of its first turn. What takes longer is stored first and made like any other turn,
// which shows what keeps it.
const eagerPatience = 5 * time.Millisecond

// errNotEager stops a first turn that only a stored instance may make.
var errNotEager = errors.New("the turn needs a stored instance")

// eager is the first turn of an instance that is not stored yet. Code has no effects but through the commit, so a turn that does not
// come to it has no consequence.
type eager struct {
	run  *run
	ctx  context.Context //nolint:containedctx // of the caller, who waits
	req  provider.CreateRequest
	done chan struct{} // closed when the turn is over; the following is set before

	ok  bool
	res provider.CreateResult
	err error
}

// StartEagerly makes the first turn of an instance and stores the instance as that turn leaves it, in one commit. ok is false if
// nothing is stored by it: the node is busy, the turn is none that goes with a start, or its code failed or took too long. The instance is
// then to be created the ordinary way, and what fails shows there.
func (d *Dispatcher) StartEagerly(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	e := d.beginEager(ctx, req)
	if e == nil {
		return res, false, nil
	}
	patience := time.NewTimer(eagerPatience)
	defer patience.Stop()
	select {
	case <-e.done:
		return e.res, e.ok, e.err
	case <-patience.C:
	case <-ctx.Done():
	}
	if d.leave(d.working, e.run, func() {}) || //nolint:contextcheck // what is left behind is the node's
		e.run.state.Load() == runStuck {
		return res, false, nil
	}
	<-e.done // it is on its way to the storage, which ctx bounds
	return e.res, e.ok, e.err
}

// mayStart tells whether a first turn may be made at once. It must not get ahead of turns that wait, and leaves half of the
// slots to those of instances that have begun.
func (d *Dispatcher) mayStart(req *provider.CreateRequest) bool {
	if _, wait := d.suspects.settling(); wait > 0 {
		return false
	}
	return d.cfg.Orchestrations[capability(req)] != nil && req.EngineLevel <= replay.EngineLevel &&
		req.Policy != provider.IDUseExisting && req.Message.Delay == 0 && d.clock.now() != 0 && !d.stopping.Load() &&
		int(d.turns.free.Load()) > d.cfg.MaxTurns/2
}

func capability(req *provider.CreateRequest) provider.Capability {
	return provider.Capability{Name: req.Name, CodeVersion: req.CodeVersion}
}

// beginEager begins the turn on a goroutine of its own, as the actor of the instance to be. It is nil if it may not begin now.
func (d *Dispatcher) beginEager(ctx context.Context, req provider.CreateRequest) *eager {
	d.fetchers.Add() // like a fetch it brings work, which must not come after Shutdown has looked
	defer d.fetchers.Done()
	if !d.mayStart(&req) || !d.turns.tryTake() {
		return nil
	}
	a := d.actors.born(&req)
	if a == nil {
		d.turns.give(1)
		return nil
	}
	e := &eager{run: d.newRun(a), ctx: ctx, req: req, done: make(chan struct{})}
	e.run.slot = true
	x := replay.New(d.cfg.Env, replay.Info{
		ID: req.ID, Key: req.Key, Execution: 1, Name: req.Name, CodeVersion: req.CodeVersion,
	}, d.cfg.Orchestrations[capability(&req)])
	x.Speculate()
	a.x = x
	d.begin(e.run, x)
	d.work.Add()
	go func() { // what follows the commit outlives the caller
		if d.eagerStep(d.working, a, e) {
			d.drive(d.working, a)
		}
	}()
	return e
}

// born makes the actor of an instance to be, which is busy. It is nil if there is one: the instance exists.
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

// eagerStep makes the turn and, unless the caller has taken it back, stores it.
func (d *Dispatcher) eagerStep(working context.Context, a *actor, e *eager) (more bool) {
	makeRoom(-1)
	return d.finished(working, a, e.run, func() {
		defer close(e.done)
		d.eagerTurn(working, a, e)
	})
}

func (d *Dispatcher) eagerTurn(working context.Context, a *actor, e *eager) {
	if e.run.state.Load() != runGoing {
		return
	}
	err := d.deliverStart(a.x, &e.req)
	if !d.conclude(e.run) {
		return
	}
	if err != nil {
		d.evict(a)
		return
	}
	d.commitEager(working, a, e)
}

// deliverStart applies the start message at the moment that the storage would be asked.
func (d *Dispatcher) deliverStart(x *replay.Execution, req *provider.CreateRequest) error {
	started, err := history.Decode(0, req.Message.Payload)
	if err != nil {
		return err
	}
	started.At = int64(d.clock.now())
	if _, err = x.Deliver(started); err == nil && (x.Ended() || len(x.Locals()) > 0) {
		err = errNotEager
	}
	return err
}

// commitEager stores the instance with its first turn. If it was not stored so, the execution is thrown away.
func (d *Dispatcher) commitEager(working context.Context, a *actor, e *eager) {
	x := a.x
	turn := x.Turn()
	t := d.translate(a, x, turn, nil)
	e.req.First = &t.req
	e.res, e.err = d.create(working, a, e)
	e.ok = true
	stored := &e.res.Instance
	if e.err == nil && e.res.Begun {
		d.count.turnsEager.Add(1)
		d.committed(working, a, x, turn, t, provider.CommitTurnResult{Now: e.res.Now, ReadyAt: stored.ReadyAt})
		return
	}
	if e.err == nil { // stored as a repeat found it, or by a provider that takes no first turns
		d.clock.set(e.res.Now)
		t.unknown = stored.Key == a.key && stored.Version != e.req.Commit
	} else {
		t.unknown = provider.OutcomeOf(e.err) != provider.OutcomeNothing
		e.ok = !errors.Is(e.err, provider.ErrInvalid) && !errors.Is(e.err, provider.ErrTooLarge) // that may be about the turn
	}
	d.revoke(working, t)
	d.evict(a)
	if kept := d.actors.unstick(a); kept && t.unknown {
		d.letGo(working, a.key)
	}
}

// create asks the storage once: the caller repeats what has no answer, and the storage knows it again.
func (d *Dispatcher) create(working context.Context, a *actor, e *eager) (provider.CreateResult, error) {
	ctx, cancel := context.WithTimeout(e.ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(working, cancel)()
	d.actors.commits(a, true)
	defer d.actors.commits(a, false)
	defer d.lookEarly(working)
	return d.store.Create(ctx, e.req) //nolint:contextcheck // the caller's, who waits
}
