package turn

import (
	"context"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Checkout is the cached execution of an instance, which a query uses. Meanwhile no turn of the instance begins here.
type Checkout struct {
	X       *replay.Execution
	Version provider.UUID // of its last commit

	a *actor
}

// Holds reports whether this node has an actor of the instance, which may have its execution.
func (ts *Turns) Holds(key provider.UUID) bool { return ts.actors.holds(key) }

// Checkout returns the cached execution of an instance as soon as no turn is waiting or in progress. It returns nil if there is none, or
// none until ctx is done. A checkout leaves the place in the cache, the idle clock and the pin as they are.
func (ts *Turns) Checkout(ctx context.Context, key provider.UUID) *Checkout {
	l, later := ts.actors.checkout(key)
	if later == nil {
		return l
	}
	select {
	case l = <-later:
		return l
	case <-ctx.Done():
	}
	if !ts.actors.leaveQueue(key, later) {
		if l = <-later; l != nil {
			ts.Return(l)
		}
	}
	return nil
}

// Return ends a checkout. Turns that came meanwhile go first, before the next query.
func (ts *Turns) Return(l *Checkout) { ts.endCheckout(l, true) }

// Discard ends a checkout whose execution is spoiled: the instance continues without it. The caller closes the execution.
func (ts *Turns) Discard(l *Checkout) {
	ts.Count.CacheEvictions.Add(1)
	ts.endCheckout(l, false)
}

func (ts *Turns) endCheckout(l *Checkout, back bool) {
	drive, closing := ts.actors.endCheckout(l.a, back)
	ts.evictor.close(closing)
	if drive {
		go ts.drive(ts.Working, l.a, nil)
		return
	}
	ts.Work.Done()
}

// Rebuild returns an execution that has not replayed the events of the instance yet. It is not cached. The result is false if the
// orchestration is not registered on this node.
func (ts *Turns) Rebuild(ctx context.Context, inst *provider.Instance) (x *replay.Execution, events []history.Event, ok bool, err error) {
	x, ok = ts.New(inst, infoOf(inst))
	if !ok {
		return nil, nil, false, nil
	}
	if events, err = ts.Read(ctx, inst); err != nil {
		return nil, nil, true, err
	}
	return x, events, true, nil
}

// New returns an execution of the code of an instance that has applied nothing yet. It is not cached. The result is false if the
// orchestration is not registered on this node.
func (ts *Turns) New(inst *provider.Instance, info replay.Info) (x *replay.Execution, ok bool) {
	body := ts.Config.Orchestration(provider.Capability{Name: inst.Name, CodeVersion: inst.CodeVersion})
	if body == nil {
		return nil, false
	}
	return replay.New(ts.Config.Env, info, body), true
}

// Read reads the history of the current execution of an instance.
func (ts *Turns) Read(ctx context.Context, inst *provider.Instance) ([]history.Event, error) {
	return ts.histories.read(ctx, inst)
}

// InfoOf returns what identifies the current execution of an instance.
func InfoOf(inst *provider.Instance) replay.Info { return infoOf(inst) }
