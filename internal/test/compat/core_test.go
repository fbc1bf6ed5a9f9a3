package compat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// This is the code of testdata/core.db. It is frozen, because the store holds its histories.

const year = 365 * 24 * time.Hour

var errDeclined = errors.New("declined")

// Greet is an activity.
func Greet(_ context.Context, name string) (string, error) { return "hello " + name, nil }

// Decline is an activity that fails.
func Decline(context.Context, orchestration.None) (orchestration.None, error) {
	return orchestration.None{}, orchestration.NonRetryable(fmt.Errorf("card 42: %w", errDeclined))
}

// Later is an activity of a queue that no node served when the store was recorded.
func Later(_ context.Context, n int) (int, error) { return n + 1, nil }

// Approve waits for an event with a timeout, between activities.
func Approve(ctx *orchestration.Context, name string) (string, error) {
	greeting, err := orchestration.CallActivity(ctx, Greet, name, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}),
		orchestration.WithStartToCloseTimeout(time.Minute))
	if err != nil {
		return "", err
	}
	if err := ctx.Sleep(time.Millisecond); err != nil {
		return "", err
	}
	by, err := orchestration.Events[string](ctx, "go").Receive(ctx, orchestration.Within(year))
	if err != nil {
		return "", err
	}
	again, err := orchestration.CallActivity(ctx, Greet, by)
	return greeting + ", " + again, err
}

// Family waits for two children at once, in a scope with a timeout.
func Family(ctx *orchestration.Context, id string) (string, error) {
	number, err := orchestration.SideEffect(ctx, func() (int, error) { return 7, nil })
	if err != nil {
		return "", err
	}
	scope, cancel := ctx.WithTimeout(year)
	defer cancel()
	names, err := orchestration.All(ctx,
		orchestration.StartOrchestration(scope, Approve, "ann", orchestration.WithInstanceID(id+"-child")),
		orchestration.StartOrchestrationNamed[string](scope, "Echo", "bob"))
	return fmt.Sprint(number, names), err
}

// Echo ends at once.
func Echo(_ *orchestration.Context, in string) (string, error) { return in, nil }

// Rounds adds one event per execution, in three executions.
func Rounds(ctx *orchestration.Context, in [2]int) (int, error) {
	n, err := orchestration.Events[int](ctx, "add").Receive(ctx)
	if err != nil {
		return 0, err
	}
	in[0], in[1] = in[0]+1, in[1]+n
	if in[0] < 3 {
		return 0, orchestration.ContinueAsNew(ctx, in)
	}
	return in[1], nil
}

// Queued waits for an activity that no node runs. A race has cancelled another one.
func Queued(ctx *orchestration.Context, n int) (int, error) {
	slow := ctx.Go(func(ctx *orchestration.Context) error { return ctx.Sleep(year) })
	quick := orchestration.StartTimer(ctx, time.Millisecond)
	if _, _, err := orchestration.Race(ctx, slow, quick); err != nil {
		return 0, err
	}
	return orchestration.CallActivity(ctx, Later, n, orchestration.WithQueue("later"))
}

// Refused ends with a registered error.
func Refused(ctx *orchestration.Context, _ orchestration.None) (orchestration.None, error) {
	return orchestration.CallActivity(ctx, Decline, orchestration.None{}, orchestration.WithRetry(orchestration.RetryPolicy{}))
}

// Cleans waits until it is cancelled and then cleans up.
func Cleans(ctx *orchestration.Context, name string) (string, error) {
	err := ctx.Sleep(year)
	if _, cleanErr := orchestration.CallActivity(ctx.Detached(), Greet, name); cleanErr != nil {
		return "", cleanErr
	}
	return "", err
}

func coreRegistry(withLater bool) *runtime.Registry {
	reg := runtime.NewRegistry()
	_ = errors.Join(
		runtime.AddOrchestration(reg, Approve), runtime.AddOrchestration(reg, Family), runtime.AddOrchestration(reg, Echo),
		runtime.AddOrchestration(reg, Rounds), runtime.AddOrchestration(reg, Queued), runtime.AddOrchestration(reg, Refused),
		runtime.AddOrchestration(reg, Cleans), runtime.AddActivity(reg, Greet), runtime.AddActivity(reg, Decline),
		runtime.AddError(reg, "declined", errDeclined))
	// The function is always registered, because Queued names it. Its queue is served only to finish the store.
	queue := "nobody"
	if withLater {
		queue = "later"
	}
	_ = runtime.AddActivity(reg, Later, runtime.OnQueue(queue))
	return reg
}
