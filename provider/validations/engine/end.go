package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func endScenarios() []scenario {
	return []scenario{
		{name: "cancel", run: cancelled, carries: []string{"Send", "CommitTurn.CancelTasks", "RenewTasks", "CommitTurn.Status"}},
		{name: "terminate", run: terminated, carries: []string{"Steer.Event", "Steer.Result", "RenewTasks", "Get.WaitEnded"}},
		{name: "race", run: race, carries: []string{"CommitTurn.CancelTasks", "CommitTurn.CancelTimers", "CommitTurn.Sends", "RenewTasks"}},
	}
}

// noticedSoon is for scenarios whose running activities are stopped: a provider without notices tells at the next renewal.
func noticedSoon(opts runtime.Options) runtime.Options {
	opts.Lease = 6 * time.Second
	return opts
}

// addBusy registers "main". It waits for an activity that runs until it is stopped, for one that nobody can run, for a
// timer and for an event.
func addBusy(t *trial, reg *runtime.Registry) (working *gate, cause chan error) {
	working, cause = newGate(), make(chan error, 1)
	addActivity(t, reg, "work", func(ctx context.Context, _ none) (none, error) {
		working.open()
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return none{}, context.Cause(ctx)
	})
	addSum(t, reg)
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (none, error) {
		_ = orchestration.StartActivityNamed[none](ctx, "nobody", none{}, orchestration.WithQueue("nowhere"))
		_ = orchestration.StartTimer(ctx, time.Hour)
		_ = orchestration.StartActivityNamed[none](ctx, "work", none{})
		_, err := orchestration.Events[none](ctx, "never").Receive(ctx)
		if _, failed := add(ctx.Detached(), 1); failed != nil {
			return none{}, failed
		}
		return none{}, err
	})
	return working, cause
}

// cancelled stops an instance in its own way: its activity is stopped, too, and it cleans up.
func cancelled(t *trial) {
	reg := runtime.NewRegistry()
	working, cause := addBusy(t, reg)
	t.nodeOn(t.store, reg, noticedSoon(t.opts))
	h := start[none](t, "main", none{})
	t.await(working)
	t.ok(h.Cancel(t.ctx, "enough"))
	if err := h.Cancel(t.ctx, "enough"); !errors.Is(err, client.ErrEnded) { // it may be over already
		t.ok(err)
	}
	t.want(take(t, cause), activity.ErrCancelled)
	ends(t, h, client.StatusCancelled, orchestration.ErrCancelled)
	cleaned := 0
	for a := range t.ran() {
		if a.name == "add" {
			cleaned++
		}
	}
	t.checkf(cleaned == 1, "it cleaned up %d times", cleaned)
	t.want(h.Raise(t.ctx, "never", none{}), client.ErrEnded)
}

// terminated ends an instance at once, whatever it does.
func terminated(t *trial) {
	reg := runtime.NewRegistry()
	working, cause := addBusy(t, reg)
	t.nodeOn(t.store, reg, noticedSoon(t.opts))
	h := start[none](t, "main", none{})
	t.await(working)
	t.ok(h.Terminate(t.ctx, "enough"))
	ends(t, h, client.StatusTerminated, orchestration.ErrTerminated)
	t.want(take(t, cause), activity.ErrOrchestrationEnded)
	list := events(t, h, 1)
	t.checkf(list[len(list)-1].Kind == "ExecutionTerminated", "its history ends with %s", list[len(list)-1].Kind)
	t.want(h.Raise(t.ctx, "never", none{}), client.ErrEnded)
}

// race lets one thing win and gives up the others: an activity that runs, a timer, a child.
func race(t *trial) {
	reg := runtime.NewRegistry()
	working, cause := newGate(), make(chan error, 1)
	addActivity(t, reg, "slow", func(ctx context.Context, _ none) (string, error) {
		working.open()
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	addActivity(t, reg, "fast", func(context.Context, none) (string, error) { return "fast", nil })
	addOrchestration(t, reg, "child", func(ctx *octx, _ none) (string, error) {
		return orchestration.Events[string](ctx, "never").Receive(ctx)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (string, error) {
		child := orchestration.StartOrchestrationNamed[string](ctx, "child", none{}, orchestration.WithInstanceID("child"))
		slow := orchestration.StartActivityNamed[string](ctx, "slow", none{})
		hour := orchestration.StartTimer(ctx, time.Hour)
		event := orchestration.Events[string](ctx, "go")
		first, err := orchestration.Select(ctx, slow, hour, event)
		if err != nil || first != 2 {
			return "", errors.Join(err, fmt.Errorf("case %d was ready first, want the event", first))
		}
		hour.Cancel()
		fast := orchestration.StartActivityNamed[string](ctx, "fast", none{})
		value, index, err := orchestration.Race(ctx, slow, child, fast)
		if err != nil || index != 2 {
			return "", errors.Join(err, fmt.Errorf("future %d won, want the fast one", index))
		}
		_, lost := child.Get(ctx)
		sent, err := event.Receive(ctx)
		return sent + value, errors.Join(err, unlike("the child that lost", lost, orchestration.ErrCancelled))
	})
	t.nodeOn(t.store, reg, noticedSoon(t.opts))
	h := start[string](t, "main", none{})
	t.await(working)
	t.raise(h.ID(), "go", "very ")
	completes(t, h, "very fast")
	t.want(take(t, cause), activity.ErrCancelled)
	ends(t, lookup[string](t, "child"), client.StatusCancelled, orchestration.ErrCancelled)
}
