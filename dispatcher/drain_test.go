package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

var clientOptions = client.Options{}

// started starts an orchestration through the node of the client.
func started(e *enginetest.Engine, c *client.Client, name string, in int) provider.UUID {
	e.T.Helper()
	h, err := client.StartNamed[int](e.T.Context(), c, name, in)
	if err != nil {
		e.T.Fatal(err)
	}
	return h.Key()
}

func drain(owner string) func(o *control.Orders) {
	return func(o *control.Orders) { o.Drain(owner, control.Order{}, func(string) bool { return true }) }
}

func undrain(o *control.Orders) { clear(o.Drained) }

// stateOf returns the state that a node has written.
func stateOf(e *enginetest.Engine, rt *runtime.Runtime) upgrade.State {
	e.T.Helper()
	nodes, _, err := upgrade.Nodes(e.T.Context(), e.Store)
	if err != nil {
		e.T.Fatal(err)
	}
	for i := range nodes {
		if nodes[i].Owner == rt.Owner() {
			return nodes[i].State
		}
	}
	e.T.Fatal("the node is not listed")
	return ""
}

// A node that drains takes no new work, lets what runs end, and says when nothing runs any more. Another node goes on with the rest at once.
// An undrained node takes work again.
func TestDrainedNodeTakesNoWork(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		begun, release := make(chan struct{}, 1), make(chan struct{})
		drained := make(chan struct{}, 10)
		work := func(ctx context.Context, n int) (int, error) {
			begun <- struct{}{}
			<-release
			return n, ctx.Err()
		}
		e.Options.OnDrained = func() { drained <- struct{}{} }
		rt := e.Start(single(e, work))
		long := e.Create("long", "single", 4)
		<-begun
		timer := e.Create("chain-0", "Chain", 3) // it leaves a cached execution
		enginetest.Output[int](e, timer)
		order(e, drain(rt.Owner()))
		if s := stateOf(e, rt); s != upgrade.Draining {
			e.T.Errorf("the node is %q", s)
		}
		h, err := rt.Health(e.T.Context())
		if err != nil || h.State != runtime.Draining {
			e.T.Errorf("health says %q, %v", h.State, err)
		}
		before := rt.Stats()
		waits := started(e, e.Client(clientOptions), "Chain", 2)
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		if s := rt.Stats(); s.TurnsFetched != before.TurnsFetched || s.TasksFetched != before.TasksFetched || s.TurnsCommitted != before.TurnsCommitted {
			e.T.Errorf("a draining node took work: %+v", s)
		}
		close(release)
		<-drained
		e.Until("it is drained", func() bool { return stateOf(e, rt) == upgrade.Drained })
		at := time.Now()
		other := e.StartOn(e.Store, single(e, work), runtime.Options{})
		if got := enginetest.Output[int](e, waits); got != 4 {
			e.T.Errorf("got %d", got)
		}
		if got := enginetest.Output[int](e, long); got != 4 {
			e.T.Errorf("got %d", got)
		}
		if took := time.Since(at); took > time.Second {
			e.T.Errorf("the other node took %v", took)
		}
		e.Stop(other)
		again := e.Create("again", "Chain", 2)
		order(e, undrain)
		if got := enginetest.Output[int](e, again); got != 4 {
			e.T.Errorf("got %d", got)
		}
		if s := stateOf(e, rt); s != upgrade.Running || len(drained) != 0 {
			e.T.Errorf("the node is %q", s)
		}
	})
}

// Timers that the node has claimed ahead, and instances that are pinned to it, go to other nodes at once. After an undrain it claims again.
func TestDrainedNodeLetsTimersGo(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "ticks", func(ctx *octx, n int) (int, error) {
			for range n {
				if err := ctx.Sleep(20 * time.Millisecond); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		rt := e.Start(reg)
		var keys []provider.UUID
		for i := range 20 {
			keys = append(keys, started(e, e.Client(clientOptions), "ticks", 1000+i))
		}
		e.Until("they tick", func() bool { return rt.Stats().TurnsCommitted > 100 })
		for range 3 {
			order(e, drain(rt.Owner()))
			e.Until("it is drained", func() bool { return stateOf(e, rt) == upgrade.Drained })
			order(e, undrain)
		}
		for i, key := range keys {
			if got := enginetest.Output[int](e, key); got != 1000+i {
				e.T.Errorf("got %d", got)
			}
		}
		if s := rt.Stats(); s.TurnsConflicted != 0 || s.TurnsFailed != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}
