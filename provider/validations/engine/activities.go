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

func activityScenarios() []scenario {
	return []scenario{
		{name: "retries", run: retries, carries: []string{"ReportTasks", "FetchTasks", "RenewTasks"}},
		{name: "activity-timeout", run: activityTimeout, carries: []string{"ReportTasks", "FetchTasks"}},
		{name: "queues", run: queues, carries: []string{"CommitTurn.Tasks", "FetchTasks.Queues", "FetchTurns.Capabilities"}},
	}
}

// quickly retries without waiting long.
func quickly(attempts int) orchestration.ActivityOption {
	return orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: attempts, InitialInterval: 5 * time.Millisecond, Coefficient: 1})
}

// retries fail until the third attempt. Each attempt knows its number and what the one before has reported.
func retries(t *trial) {
	reg := runtime.NewRegistry()
	t.ok(runtime.AddError(reg, "refused", errRefused))
	addActivity(t, reg, "third", func(ctx context.Context, _ none) (int, error) {
		n := activity.GetInfo(ctx).Attempt
		last, ok, err := activity.HeartbeatDetails[int](ctx)
		if err != nil || ok != (n > 1) || last != 10*(n-1) {
			return 0, orchestration.NonRetryable(errors.Join(err, fmt.Errorf("attempt %d got details %d, %t", n, last, ok)))
		}
		if err := activity.Heartbeat(ctx, 10*n); err != nil {
			return 0, err
		}
		if n < 3 {
			return 0, errRefused
		}
		return n, nil
	})
	addActivity(t, reg, "never", func(ctx context.Context, final bool) (none, error) {
		if final {
			return none{}, orchestration.NonRetryable(errRefused)
		}
		return none{}, fmt.Errorf("attempt %d: %w", activity.GetInfo(ctx).Attempt, errRefused)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (int, error) {
		_, twice := orchestration.CallActivityNamed[none](ctx, "never", false, quickly(2))
		_, final := orchestration.CallActivityNamed[none](ctx, "never", true, quickly(0))
		if err := errors.Join(unlike("2 attempts", twice, errRefused), unlike("a final error", final, errRefused)); err != nil {
			return 0, err
		}
		return orchestration.CallActivityNamed[int](ctx, "third", none{}, quickly(5))
	})
	t.node(reg)
	h := start[int](t, "main", none{})
	completes(t, h, 3)
	attempts := 0
	for a := range t.ran() {
		if a.name == "never" {
			attempts++
		}
	}
	t.checkf(attempts == 3, "2 attempts and a final error ran %d times", attempts)
}

// activityTimeout gives up what takes too long, and tries again.
func activityTimeout(t *trial) {
	reg := runtime.NewRegistry()
	addActivity(t, reg, "slow", func(ctx context.Context, _ none) (int, error) {
		if n := activity.GetInfo(ctx).Attempt; n > 1 {
			return n, nil
		}
		<-ctx.Done()
		return 0, context.Cause(ctx)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (int, error) {
		soon := orchestration.WithStartToCloseTimeout(30 * time.Millisecond)
		_, err := orchestration.CallActivityNamed[int](ctx, "slow", none{}, soon)
		if err := unlike("a slow activity", err, orchestration.ErrTimeout); err != nil {
			return 0, err
		}
		return orchestration.CallActivityNamed[int](ctx, "slow", none{}, soon, quickly(0))
	})
	t.node(reg)
	if n := output(t, start[int](t, "main", none{})); n < 2 { // on a slow machine more may be over their time
		t.errorf("attempt %d was the last", n)
	}
}

// queues lets work wait for the node that can do it, next to work that others can do.
func queues(t *trial) {
	first, second := runtime.NewRegistry(), runtime.NewRegistry()
	addSum(t, first)
	addActivity(t, second, "train", func(ctx context.Context, n int) (int, error) {
		return 10 * n, nil
	}, runtime.OnQueue("gpu"))
	addOrchestration(t, first, "main", func(ctx *octx, n int) (int, error) {
		waits := orchestration.StartActivityNamed[int](ctx, "train", n, orchestration.WithQueue("gpu"))
		n, err := add(ctx, n)
		if err != nil {
			return 0, err
		}
		trained, err := waits.Get(ctx)
		return n + trained, err
	})
	addOrchestration(t, first, "plain", add)
	addOrchestration(t, second, "later", func(_ *octx, n int) (int, error) { return n, nil })
	t.node(first)
	h, later := start[int](t, "main", 4), start[int](t, "later", 7)
	completes(t, start[int](t, "plain", 1), 2)
	for _, waiting := range []client.Handle[int]{h, later} {
		d := describe(t, waiting)
		t.checkf(!d.Status.Ended() && d.Blocked == nil, "%q is %s, blocked %v: no node can run it yet", d.Orchestration, d.Status, d.Blocked)
	}
	t.node(second)
	completes(t, h, 45)
	completes(t, later, 7)
}
