package engine

import (
	"context"
	"errors"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

func faultScenarios() []scenario {
	return []scenario{
		{name: "invented-notices", run: inventedNotices, carries: []string{"RenewTasks"}},
		{
			name: "lost-answers", run: lostAnswers,
			carries: []string{"Create.RequestID", "CommitTurn.Commit", "ReportTasks", "FetchTurns.Token", "FetchTasks.Token", "ReleaseTurns", "Steer.Commit", "Send"},
		},
	}
}

// inventedNotices are those that others have made up: that a running activity was cancelled, and that its execution has ended.
func inventedNotices(t *trial) {
	plan := faulty.NewPlan(1)
	store := faulty.Wrap(t.store, plan)
	reg := runtime.NewRegistry()
	working, seen, finish := newGate(), newGate(), newGate()
	addActivity(t, reg, "work", func(ctx context.Context, n int) (int, error) {
		working.open()
		return n, finish.wait(ctx)
	})
	addActivity(t, reg, "see", func(_ context.Context, n int) (int, error) {
		if n == 0 {
			seen.open()
		}
		return n, nil
	})
	addOrchestration(t, reg, "main", func(ctx *octx, n int) (int, error) {
		work := orchestration.StartActivityNamed[int](ctx, "work", n)
		for {
			event, err := orchestration.Events[int](ctx, "e").Receive(ctx)
			if err == nil {
				event, err = orchestration.CallActivityNamed[int](ctx, "see", event)
			}
			if err != nil {
				return 0, err
			}
			if event == 0 {
				return work.Get(ctx)
			}
		}
	})
	t.nodeOn(store, reg, t.opts)
	plan.InventNotices(true)
	h := start[int](t, "main", 7)
	t.await(working)
	for n := range 5 { // each commit invents notices
		t.ok(h.Raise(t.ctx, "e", 4-n))
	}
	t.await(seen)
	finish.open()
	completes(t, h, 7)
}

// lostAnswers are those of calls that are carried out and never heard of again. Node and client repeat them, and
// nothing happens twice.
func lostAnswers(t *trial) {
	const many = 2
	plan := faulty.NewPlan(1)
	store := faulty.Wrap(t.store, plan)
	t.client = t.newClient(store)
	reg := runtime.NewRegistry()
	addSum(t, reg)
	addOrchestration(t, reg, "child", add)
	addOrchestration(t, reg, "main", func(ctx *octx, n int) (int, error) {
		n, err := orchestration.CallOrchestrationNamed[int](ctx, "child", n)
		if err != nil {
			return 0, err
		}
		first, second := orchestration.StartActivityNamed[int](ctx, "add", n), orchestration.StartActivityNamed[int](ctx, "add", n)
		values, err := orchestration.All(ctx, first, second)
		if err != nil {
			return 0, err
		}
		if n = values[0] + values[1]; n < 20 {
			return 0, orchestration.ContinueAsNew(ctx, n)
		}
		event, err := orchestration.Events[int](ctx, "e").Receive(ctx)
		if _, again, failed := orchestration.Events[int](ctx, "e").TryReceive(); again || failed != nil {
			return 0, errors.Join(failed, errors.New("an event came twice"))
		}
		return n + event, err
	})
	t.nodeOn(store, reg, t.opts) // a node does not start on a store that fails
	lose := []faulty.Op{faulty.Create, faulty.Send, faulty.Steer, faulty.CommitTurn, faulty.ReportTasks}
	for _, op := range lose {
		plan.Add(faulty.Rule{Ops: []faulty.Op{op}, First: 1, Every: 4, Kind: faulty.After})
	}
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.FetchTurns}, Every: 4, Kind: faulty.After})
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.FetchTasks}, First: 1, Kind: faulty.After})
	t.parallel(many, many, func(int) {
		h := start[int](t, "main", 1)
		t.ok(h.Raise(t.ctx, "e", 100))
		completes(t, h, 136)
		doomed := start[int](t, "main", 20)
		t.ok(doomed.Terminate(t.ctx, "enough"))
		ends(t, doomed, client.StatusTerminated, orchestration.ErrTerminated)
	})
	plan.Clear()
	for _, op := range lose[:4] {
		t.checkf(len(t.seen()) > 0 || plan.Injected(op) > 0, "no answer of %q was lost: the scenario shows nothing", op)
	}
}
