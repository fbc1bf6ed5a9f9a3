package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func nodeScenarios() []scenario {
	return []scenario{
		{
			name: "two-nodes", run: twoNodes, two: true,
			carries: []string{"FetchTurns.Capabilities", "FetchTasks.Queues", "FetchTurns.Wait", "FetchTasks.Wait", "ReportTasks"},
		},
		{name: "hand-back", run: handBack, two: true, again: true, carries: []string{"ReportTasks", "ReleaseTurns", "FetchTasks.Wait"}},
		{name: "home", run: home, two: true, carries: []string{"CommitTurn.Sticky", "ReportTasks", "FetchTurns.Wait", "Send"}},
		{
			name: "takeover", run: takeover, two: true, again: true,
			carries: []string{"FetchTurns.Lease", "FetchTasks.Lease", "CommitTurn.Expected", "CommitTurn.Completes", "ReportTasks", "RenewTasks"},
		},
	}
}

// twoNodes need each other for every step: each has what the other has not.
func twoNodes(t *trial) {
	const many = 10
	first, second := runtime.NewRegistry(), runtime.NewRegistry()
	addOrchestration(t, first, "main", func(ctx *octx, n int) (int, error) {
		n, err := add(ctx, n)
		if err != nil {
			return 0, err
		}
		if n, err = orchestration.CallOrchestrationNamed[int](ctx, "child", n); err != nil {
			return 0, err
		}
		more, err := orchestration.Events[int](ctx, "more").Receive(ctx)
		return n + more, err
	})
	addActivity(t, first, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	addSum(t, second)
	addOrchestration(t, second, "child", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "double", n)
	})
	t.node(first)
	t.nodeOn(t.other, second, t.opts)
	far := t.newClient(t.other)
	t.parallel(many, many, func(i int) {
		h := start[int](t, "main", i)
		t.ok(far.Raise(t.ctx, h.ID(), "more", 100))
		completes(t, h, 2*(i+1)+100)
	})
}

// handBack stops a node in the middle of its work. Another one continues at once, though the leases would last longer
// than the scenario may.
func handBack(t *trial) {
	working := newGate()
	registry := func(work func(ctx context.Context) error) *runtime.Registry {
		reg := runtime.NewRegistry()
		addActivity(t, reg, "work", func(ctx context.Context, n int) (int, error) {
			if info := activity.GetInfo(ctx); info.Attempt != 1 || info.Deliveries != 1 {
				return 0, fmt.Errorf("attempt %d, delivery %d: what was handed back counts", info.Attempt, info.Deliveries)
			}
			return n + 1, work(ctx)
		})
		addOrchestration(t, reg, "main", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "work", n)
		})
		return reg
	}
	opts := t.opts
	opts.Lease, opts.Shutdown.DrainTimeout = time.Hour, runtime.Off
	node := t.nodeOn(t.store, registry(func(ctx context.Context) error {
		working.open()
		<-ctx.Done()
		return context.Cause(ctx)
	}), opts)
	h := start[int](t, "main", 1)
	t.await(working)
	t.ok(node.Shutdown(t.ctx))
	t.nodeOn(t.other, registry(func(context.Context) error { return nil }), opts)
	completes(t, h, 2)
}

// home has one node run activities, fire timers and send events for instances that another node holds in memory. Both could make
// the turns, but only that one need not replay anything for them.
func home(t *trial) {
	const many, steps = 5, 5
	begun := make(chan struct{}, many)
	first, second := runtime.NewRegistry(), runtime.NewRegistry()
	main := func(ctx *octx, n int) (int, error) {
		n, err := orchestration.CallActivityNamed[int](ctx, "begin", n)
		for range steps {
			if err == nil {
				n, err = add(ctx, n)
			}
			if err == nil {
				err = ctx.Sleep(time.Millisecond)
			}
		}
		if err != nil {
			return 0, err
		}
		more, err := orchestration.Events[int](ctx, "more").Receive(ctx)
		return n + more, err
	}
	addOrchestration(t, first, "main", main)
	addOrchestration(t, second, "main", main)
	addActivity(t, first, "begin", func(_ context.Context, n int) (int, error) {
		begun <- struct{}{}
		return n, nil
	})
	addSum(t, second)
	one := t.nodeOn(t.store, first, t.opts)
	all := make([]client.Handle[int], many)
	for i := range all {
		all[i] = start[int](t, "main", i)
	}
	for range many {
		select {
		case <-begun:
		case <-t.ctx.Done():
			return
		}
	}
	two := t.nodeOn(t.other, second, t.opts)
	far := t.newClient(t.other)
	for i, h := range all {
		t.ok(far.Raise(t.ctx, h.ID(), "more", 100))
		completes(t, h, i+steps+100)
	}
	for i, node := range []*runtime.Runtime{one, two} {
		// An event that overtakes the claim of a timer's turn refuses that turn, and the execution is evicted.
		if s := node.Stats(); t.name == "cached" && provider.FeaturesOf(t.store).Sticky {
			t.checkf(s.ColdReplays <= s.TurnsConflicted, "node %d replayed %d histories, after %d conflicts", i+1, s.ColdReplays, s.TurnsConflicted)
		}
	}
}

// takeover lets a node stand still in the middle of a turn and of two activities until its leases have
// lapsed. The other node does all that again; what the first one says later is refused.
func takeover(t *trial) {
	w := &standstill{t: t, freezer: newFreezer(t.store), inTurn: newGate(), inTask: newGate(), inOnce: newGate(), frozen: newGate(), again: newGate()}
	opts := t.opts
	opts.Lease = 500 * time.Millisecond
	first := t.nodeOn(w.freezer, w.registry("first"), opts)
	turn, main := start[string](t, "turn", none{}), start[string](t, "main", none{})
	t.await(w.inTurn, w.inTask, w.inOnce)
	w.freeze()
	w.frozen.open()
	opts.Lease = time.Minute
	t.nodeOn(t.other, w.registry("second"), opts)
	completes(t, main, "second")
	t.await(w.again) // the second node has stored the turn that the first one is about to store, and the next one
	w.thaw()
	t.await(w.answered)
	t.ok(first.Shutdown(t.ctx))
	t.checkf(w.tooLate() > 0, "a commit of a turn that another node has made meanwhile was not refused")
	t.raise(turn.ID(), "go", none{})
	completes(t, turn, "second")
}

// standstill is what takeover is about.
type standstill struct {
	*freezer

	t                      *trial
	inTurn, inTask, inOnce *gate // the first node is there
	frozen                 *gate
	again                  *gate // the second node has made the turn
}

// registry is that of one of the nodes. The first one comes to the gates and waits there until it is frozen.
func (w *standstill) registry(name string) *runtime.Registry {
	hold := func(*gate) {}
	if name == "first" {
		hold = func(here *gate) {
			here.open()
			_ = w.frozen.wait(w.t.ctx)
		}
	}
	reg := runtime.NewRegistry()
	for id, here := range map[string]*gate{"task": w.inTask, "once": w.inOnce} {
		addActivity(w.t, reg, id, func(context.Context, none) (string, error) {
			hold(here)
			return name, nil
		})
	}
	addSum(w.t, reg)
	addActivity(w.t, reg, "again", func(_ context.Context, by string) (string, error) {
		w.again.open()
		return by, nil
	})
	addOrchestration(w.t, reg, "turn", func(ctx *octx, _ none) (string, error) {
		by, err := orchestration.SideEffect(ctx, func() (string, error) {
			hold(w.inTurn)
			return name, nil
		})
		if err != nil {
			return "", err
		}
		if _, err := add(ctx, 1); err != nil {
			return "", err
		}
		if by, err = orchestration.CallActivityNamed[string](ctx, "again", by); err != nil {
			return "", err
		}
		_, err = orchestration.Events[none](ctx, "go").Receive(ctx)
		return by, err
	})
	addOrchestration(w.t, reg, "main", func(ctx *octx, _ none) (string, error) {
		once := orchestration.StartActivityNamed[string](ctx, "once", none{}, orchestration.AtMostOnce())
		by, err := orchestration.CallActivityNamed[string](ctx, "task", none{})
		_, lost := once.Get(ctx)
		return by, errors.Join(err, unlike("an activity that must not run twice", lost, orchestration.ErrWorkerLost))
	})
	return reg
}
