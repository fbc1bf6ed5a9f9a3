package dispatcher_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// order changes the orders to the nodes of a store, and waits until all nodes have confirmed.
func order(e *enginetest.Engine, change func(o *control.Orders)) {
	e.T.Helper()
	at := time.Now()
	o, err := control.Change(e.T.Context(), e.Store, change)
	if err != nil {
		e.T.Fatal(err)
	}
	e.Until("all nodes obey", func() bool {
		nodes, _, err := upgrade.Nodes(e.T.Context(), e.Store)
		if err != nil {
			e.T.Fatal(err)
		}
		for i := range nodes {
			if nodes[i].Seen < o.Version {
				return false
			}
		}
		return true
	})
	if took := time.Since(at); took > 5*time.Second {
		e.T.Errorf("the nodes took %v to obey", took)
	}
}

func pausing(queues ...string) func(o *control.Orders) {
	return func(o *control.Orders) {
		for _, q := range queues {
			o.Pause(q, control.Order{})
		}
	}
}

func resume(o *control.Orders) { clear(o.Paused) }

// A paused queue begins nothing, by whatever path: the queue itself with a parked fetch, hand-offs of turns, first turns of a start, local
// activities, retries. Running activities go on, other queues are not delayed, and a resume starts everything that waits.
func TestHazard86_PausedQueueBeginsNothing(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var begun, others atomic.Int64
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "held", func(ctx context.Context, n int) (int, error) {
			begun.Add(1)
			if n == 0 {
				<-held
			}
			return n, nil
		}, runtime.OnQueue("slow"))
		enginetest.Activity(e.T, reg, "other", func(_ context.Context, n int) (int, error) {
			others.Add(1)
			return n, nil
		})
		enginetest.Orchestration(e.T, reg, "held", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "held", n, orchestration.WithQueue("slow"))
		})
		enginetest.Orchestration(e.T, reg, "later", func(ctx *octx, n int) (int, error) { // handed off behind a turn that is fetched
			if _, err := orchestration.CallActivityNamed[int](ctx, "other", n); err != nil {
				return 0, err
			}
			return orchestration.CallActivityNamed[int](ctx, "held", n, orchestration.WithQueue("slow"))
		})
		enginetest.Orchestration(e.T, reg, "local", func(ctx *octx, n int) (int, error) {
			return orchestration.CallLocalNamed[int](ctx, "held", n, orchestration.WithQueue("slow"))
		})
		rt := e.Start(reg)
		e.T.Cleanup(release)
		running := e.Create("running", "held", 0)
		e.Until("it runs", func() bool { return begun.Load() == 1 })
		order(e, pausing("slow"))
		c := e.Client(clientOptions)
		var keys []provider.UUID
		for i, name := range []string{"held", "later", "local"} {
			keys = append(keys, e.Create(name+"-created", name, i+1), started(e, c, name, i+1))
		}
		e.Until("the other queue goes on", func() bool { return others.Load() == 2 })
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		if n := begun.Load(); n != 1 {
			e.T.Fatalf("%d activities of the paused queue have begun", n-1)
		}
		if got := enginetest.Output[int](e, e.Create("free", "Chain", 10)); got == 0 {
			e.T.Error("the other queue does not go on")
		}
		release()
		if got := enginetest.Output[int](e, running); got != 0 {
			e.T.Errorf("got %d", got)
		}
		order(e, resume)
		for i, key := range keys {
			if got := enginetest.Output[int](e, key); got != i/2+1 {
				e.T.Errorf("got %d", got)
			}
		}
		if s := rt.Stats(); s.LeasesLost != 0 || begun.Load() != 7 {
			e.T.Errorf("%d begun, %+v", begun.Load(), s)
		}
	})
}

// A node that starts while a queue is paused does not begin with it.
func TestNodeStartsWithPausedQueues(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		order(e, pausing(orchestration.DefaultQueue))
		key := e.Create("chain", "Chain", 1)
		rt := e.Start(registry(e.T))
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		if s := rt.Stats(); s.TasksFetched+s.TasksHandedOff != 0 || s.TurnsCommitted != 1 {
			e.T.Errorf("%+v", s)
		}
		order(e, resume)
		if got := enginetest.Output[int](e, key); got != 2 {
			e.T.Errorf("got %d", got)
		}
	})
}

// Without orders, a node reads one record every four seconds, and writes its own once a minute. A task costs nothing.
func TestOrdersCostOneReadEveryFourSeconds(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var gets, puts, others atomic.Int64
		store := &keeperOf{Full: e.Store, called: func(req *provider.RecordRequest) {
			switch {
			case req.Action == provider.RecordGet && req.Namespace == "perdure/control":
				gets.Add(1)
			case req.Action == provider.RecordPut && req.Namespace == "perdure/nodes":
				puts.Add(1)
			default:
				others.Add(1)
			}
		}}
		e.StartOn(store, registry(e.T), runtime.Options{})
		gets.Store(0)
		puts.Store(0)
		time.Sleep(10 * time.Minute) //nolint:forbidigo // virtual time
		if g, p := gets.Load(), puts.Load(); g < 149 || g > 150 || p < 9 || p > 11 {
			e.T.Errorf("%d reads and %d writes in ten idle minutes", g, p)
		}
	})
}

// keeperOf is a store that shows the calls of its records.
type keeperOf struct {
	*provider.Full

	called func(req *provider.RecordRequest)
}

func (k *keeperOf) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	k.called(&req)
	return k.Full.Record(ctx, req)
}
