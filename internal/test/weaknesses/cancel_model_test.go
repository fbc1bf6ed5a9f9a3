package weaknesses

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// A cancellation has a status of its own. Its code may clean up in detached scopes, also after a restart. Whole trees
// end by it, and cancelled calls leave nothing behind.
func TestWeakness11_CancellationIsAModel(t *testing.T) {
	t.Parallel()
	inEveryStore(t, claims{
		"Cancelled is a status, not a text":                  cancelledIsAStatus,
		"cleaning up runs in a detached scope":               cleanUp,
		"a shielded part is not interrupted":                 shielded,
		"a parent can wait for the end of its child":         waitForTheEnd,
		"grandchildren end with their tree":                  func(e *engine) { wholeTree(e, false) },
		"grandchildren end, their parents continue as new":   func(e *engine) { wholeTree(e, true) },
		"a child that continues as new when it is cancelled": cancelledWhileContinuing,
	})
	inEveryMode(t, claims{
		"what was given up leaves nothing in the inbox": nothingInTheInbox,
		"cleaning up goes on on another node":           cleanUpElsewhere,
	})
}

func cancelledIsAStatus(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "liar", func(*octx, none) (none, error) { return none{}, errors.New("cancelled: it says") })
	key := start(e, reg, func(ctx *octx, _ none) (none, error) {
		err := ctx.Sleep(100 * time.Hour)
		return none{}, fmt.Errorf("sleeping: %w", err)
	}, none{})
	e.Cancel(key, "enough")
	c, ctx := newClient(e), e.T.Context()
	ended(e, key)
	_, err := client.HandleOf[none](c, "main", key).Wait(ctx)
	if !errors.Is(err, orchestration.ErrCancelled) || !errors.Is(err, client.ErrFailed) {
		e.T.Errorf("the cancelled one returned %v", err)
	}
	d, err := c.Describe(ctx, "main")
	if err != nil || d.Status != client.StatusCancelled || d.Failure == nil || d.Failure.Message != "sleeping: cancelled: enough" {
		e.T.Errorf("%+v, %v", d, err)
	}
	liar := e.Create("liar", "liar", none{})
	wantStatus(e, liar, provider.StatusFailed)
	if _, err := client.HandleOf[none](c, "liar", liar).Wait(ctx); errors.Is(err, orchestration.ErrCancelled) {
		e.T.Errorf("a text was taken for a cancellation: %v", err)
	}
}

// cleaningUp sleeps until it is cancelled and then makes cleanup calls of every kind.
func cleaningUp(ctx *octx, _ none) (none, error) {
	err := ctx.Sleep(100 * time.Hour)
	undo := ctx.Detached()
	_, activity := orchestration.CallActivity(undo, Double, 1)
	pause := undo.Sleep(10 * time.Millisecond)
	_, child := orchestration.CallOrchestration(undo, Echo, 1)
	_, event := orchestration.Events[none](undo, "undone").Receive(undo)
	return none{}, errors.Join(err, activity, pause, child, event)
}

// cleanedUp is the history of cleaningUp.
const cleanedUp = "ExecutionStarted TimerCreated CancelRequested TimerCancelled ActivityScheduled ActivityCompleted " +
	"TimerCreated TimerFired ChildStarted ChildCompleted EventReceived ExecutionCancelled"

func cleanUp(e *engine) {
	reg := registry(e)
	key := start(e, reg, cleaningUp, none{})
	until(e, "it sleeps", func() bool { return e.Get(key).HistoryLength == 2 })
	e.Cancel(key, "enough")
	until(e, "it waits for its event", func() bool { return e.Get(key).HistoryLength == 10 })
	e.Cancel(key, "again") // once is enough
	e.Raise(key, "undone", none{})
	wantStatus(e, key, provider.StatusCancelled)
	if got := kinds(e, key, 1); got != cleanedUp {
		e.T.Errorf("history %s", got)
	}
}

// cleanUpElsewhere stops each node after a moment, so that each step runs on another node.
func cleanUpElsewhere(e *engine) {
	key := e.Create("main", "main", none{})
	for i := 0; !e.Get(key).Status.Ended() && i < 20; i++ {
		reg := registry(e)
		enginetest.Orchestration(e.T, reg, "main", cleaningUp)
		rt := e.Start(reg)
		pass(e, 7*time.Millisecond)
		e.Stop(rt)
		switch i {
		case 0:
			e.Cancel(key, "enough")
		case 5:
			e.Raise(key, "undone", none{})
		}
	}
	wantStatus(e, key, provider.StatusCancelled)
	if got := kinds(e, key, 1); strings.Replace(got, "EventReceived ", "", 1) != strings.Replace(cleanedUp, "EventReceived ", "", 1) {
		e.T.Errorf("history %s", got)
	}
}

// shielded runs several steps that belong together in a scope that no cancellation reaches.
func shielded(e *engine) {
	reg := registry(e)
	key := start(e, reg, func(ctx *octx, _ none) (int, error) {
		shield := ctx.Detached()
		step := orchestration.Events[int](shield, "step")
		total := 0
		for range 3 {
			n, err := step.Receive(shield)
			if err != nil {
				return 0, fmt.Errorf("in the shield: %w", err)
			}
			if n, err = orchestration.CallActivity(shield, Double, n); err != nil {
				return 0, fmt.Errorf("in the shield: %w", err)
			}
			total += n
		}
		if ctx.Err() == nil {
			return 0, errors.New("nobody has cancelled")
		}
		return total, nil
	}, none{})
	e.Raise(key, "step", 1)
	e.Cancel(key, "enough")
	e.Raise(key, "step", 2)
	e.Raise(key, "step", 3)
	want(e, key, 12)
}

// waitForTheEnd cancels a child and continues after its cleanup. The parent awaits a child of a detached scope even
// after its own cancellation. A client cancels that child.
func waitForTheEnd(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, _ none) (none, error) {
		err := ctx.Sleep(100 * time.Hour)
		if _, undo := orchestration.CallActivityNamed[none](ctx.Detached(), "clean", none{}); undo != nil {
			return none{}, undo
		}
		return none{}, err
	})
	cleaned := make(chan struct{}, 1)
	enginetest.Activity(e.T, reg, "clean", func(context.Context, none) (none, error) {
		cleaned <- struct{}{}
		return none{}, nil
	})
	c := newClient(e)
	enginetest.Activity(e.T, reg, "stop", func(ctx context.Context, id string) (none, error) {
		return none{}, c.Cancel(ctx, id, "its parent goes")
	})
	key := start(e, reg, func(ctx *octx, _ none) (string, error) {
		shield := ctx.Detached()
		child := orchestration.StartOrchestrationNamed[none](shield, "child", none{}, orchestration.WithInstanceID("child"))
		if _, err := child.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
			return "", fmt.Errorf("waiting: %w", err)
		}
		if child.Ready() {
			return "", errors.New("the child has ended too early")
		}
		if _, err := orchestration.CallActivityNamed[none](shield, "stop", "child"); err != nil {
			return "", err
		}
		if _, err := child.Get(shield); !errors.Is(err, orchestration.ErrCancelled) {
			return "", fmt.Errorf("child: %w", err)
		}
		return "after the child", nil
	}, none{})
	child := await(e, "child")
	e.Cancel(key, "enough")
	want(e, key, "after the child")
	select {
	case <-cleaned:
	default:
		e.T.Error("the child had not cleaned up")
	}
	if c, p := e.Get(child), e.Get(key); c.Status != provider.StatusCancelled || c.EndedAt > p.EndedAt {
		e.T.Errorf("the child ended as %v at %v, its parent at %v", c.Status, c.EndedAt, p.EndedAt)
	}
}

// wholeTree cancels the root of a tree, whose members may be in later executions.
func wholeTree(e *engine, continued bool) {
	reg := registry(e)
	member := func(below string) func(*octx, int) (none, error) {
		return func(ctx *octx, n int) (none, error) {
			var child orchestration.Future[none]
			if below != "" {
				child = orchestration.StartOrchestrationNamed[none](ctx, below, 0)
			}
			if continued && n < 2 {
				if err := ctx.Sleep(time.Millisecond); err != nil {
					return none{}, err
				}
				return none{}, orchestration.ContinueAsNew(ctx, n+1)
			}
			if below == "" {
				return none{}, ctx.Sleep(100 * time.Hour)
			}
			return child.Get(ctx)
		}
	}
	enginetest.Orchestration(e.T, reg, "leaf", member(""))
	enginetest.Orchestration(e.T, reg, "middle", member("leaf"))
	root := start(e, reg, member("middle"), 0)
	if continued {
		until(e, "the root has continued", func() bool { return e.Get(root).Execution == 3 })
	}
	until(e, "three wait", func() bool { return len(runningOf(e, continued)) == 3 })
	e.Cancel(root, "enough")
	wantStatus(e, root, provider.StatusCancelled)
	until(e, "all have ended", func() bool { return stats(e).Instances[provider.StatusRunning] == 0 })
	if s := stats(e); s.Instances[provider.StatusCancelled] < 3 || s.Instances[provider.StatusFailed] != 0 || s.TurnLeases+s.TaskLeases != 0 {
		e.T.Errorf("%+v", s)
	}
}

// runningOf lists the running instances. Those that continue as new count from execution 3 on.
func runningOf(e *engine, continued bool) []provider.Instance {
	e.T.Helper()
	res, err := e.Store.List(e.T.Context(), provider.ListRequest{Filter: provider.Filter{Statuses: []provider.Status{provider.StatusRunning}}})
	if err != nil {
		e.T.Fatal(err)
	}
	for _, i := range res.Instances {
		if continued && i.Execution < 3 {
			return nil
		}
	}
	return res.Instances
}

// cancelledWhileContinuing has a child that continues as new on its cancellation. The cancellation stays in force in
// the next execution.
func cancelledWhileContinuing(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "leaf", func(ctx *octx, _ none) (none, error) { return none{}, ctx.Sleep(100 * time.Hour) })
	enginetest.Orchestration(e.T, reg, "middle", func(ctx *octx, n int) (none, error) {
		child := orchestration.StartOrchestrationNamed[none](ctx, "leaf", none{})
		_, err := child.Get(ctx)
		if n < 2 {
			return none{}, orchestration.ContinueAsNew(ctx, n+1)
		}
		return none{}, err
	})
	root := start(e, reg, func(ctx *octx, _ none) (none, error) {
		return orchestration.CallOrchestrationNamed[none](ctx, "middle", 0, orchestration.WithInstanceID("middle"))
	}, none{})
	middle := await(e, "middle")
	e.Cancel(root, "enough")
	wantStatus(e, root, provider.StatusCancelled)
	wantStatus(e, middle, provider.StatusCancelled)
	if i := e.Get(middle); i.Execution != 3 {
		e.T.Errorf("the child ended in execution %d", i.Execution)
	}
	until(e, "all have ended", func() bool { return stats(e).Instances[provider.StatusRunning] == 0 })
}

// nothingInTheInbox cancels timers in all ways and looks for remains.
func nothingInTheInbox(e *engine) {
	reg := registry(e)
	key := start(e, reg, func(ctx *octx, _ none) (string, error) {
		box := orchestration.Events[none](ctx, "event")
		orchestration.StartTimer(ctx, time.Hour).Cancel()
		lost := orchestration.StartTimer(ctx, time.Hour)
		scope, cancel := ctx.WithTimeout(2 * time.Hour)
		orchestration.StartTimer(scope, time.Hour)
		raced := orchestration.StartTimer(ctx, time.Hour)
		if _, err := box.Receive(ctx, orchestration.Within(time.Hour)); err != nil {
			return "", err
		}
		lost.Cancel()
		cancel()
		if _, _, err := orchestration.Race(ctx, raced, orchestration.StartTimer(ctx, time.Minute)); err != nil {
			return "", err
		}
		if _, err := box.Receive(ctx); err != nil {
			return "", err
		}
		return "well", nil
	}, none{})
	until(e, "the timers are set", func() bool { return e.Get(key).InboxMessages == 5 })
	e.Raise(key, "event", none{})
	pass(e, 5*time.Minute)
	if i := e.Get(key); i.InboxMessages != 0 || i.ReadyAt != 0 {
		e.T.Errorf("%d messages wait, ready at %v", i.InboxMessages, i.ReadyAt)
	}
	pass(e, 5*time.Hour)
	e.Raise(key, "event", none{})
	want(e, key, "well")
	if got := kinds(e, key, 1); strings.Count(got, "TimerFired") != 1 {
		e.T.Errorf("history %s", got)
	}
}
