package observers

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

var errNo = errors.New("no")

// order calls an activity and continues as new once. Then it calls one that is tried twice and one that fails, a local one and a child.
// It ends with an event, and takes updates meanwhile.
func order(ctx *octx, n int) (int, error) {
	orchestration.HandleQuery(ctx, "n", func(none) (int, error) { return n, nil })
	orchestration.HandleUpdate(ctx, "add", func(_ *octx, more int) (int, error) { return n + more, nil })
	if _, err := orchestration.CallActivityNamed[int](ctx, "work", n); err != nil {
		return 0, err
	}
	if n == 1 {
		return 0, orchestration.ContinueAsNew(ctx, 2)
	}
	retry := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Millisecond})
	if _, err := orchestration.CallActivityNamed[int](ctx, "flaky", n, retry); err != nil {
		return 0, err
	}
	once := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 1})
	if _, err := orchestration.CallActivityNamed[int](ctx, "broken", n, once); err == nil {
		return 0, errors.New("broken did not fail")
	}
	if _, err := orchestration.CallLocalNamed[int](ctx, "work", n); err != nil {
		return 0, err
	}
	if _, err := orchestration.CallOrchestrationNamed[int](ctx, "child", n); err != nil {
		return 0, err
	}
	if err := ctx.Sleep(time.Millisecond); err != nil {
		return 0, err
	}
	ctx.SetStatus("waiting")
	return orchestration.Events[int](ctx, "go").Receive(ctx)
}

func child(ctx *octx, n int) (int, error) {
	return orchestration.CallActivityNamed[int](ctx, "work", n)
}

// orders returns a registry with order as "main".
func orders(e *enginetest.Engine) *runtime.Registry {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "main", order)
	enginetest.Orchestration(e.T, reg, "child", child)
	enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) { return n, nil })
	enginetest.Activity(e.T, reg, "broken", func(context.Context, int) (int, error) { return 0, errNo })
	enginetest.Activity(e.T, reg, "flaky", func(ctx context.Context, n int) (int, error) {
		if activity.GetInfo(ctx).Attempt == 1 {
			return 0, errNo
		}
		return n, nil
	})
	return reg
}

// play plays one order from start to end, with a query, an update and an event.
func play(e *enginetest.Engine, rt *runtime.Runtime, opts ...client.StartOption) client.Handle[int] {
	e.T.Helper()
	h := start[int](e, rt, 1, opts...)
	e.Until("the second execution waits for its event", func() bool {
		status, err := client.StatusOf[string](e.T.Context(), h)
		return err == nil && status == "waiting"
	})
	if got, err := client.Query[int](e.T.Context(), h, "n", none{}); err != nil || got != 2 {
		e.T.Errorf("the query: %d, %v", got, err)
	}
	if got, err := client.Update[int](e.T.Context(), h, "add", 3); err != nil || got != 5 {
		e.T.Errorf("the update: %d, %v", got, err)
	}
	if err := h.Raise(e.T.Context(), "go", 7); err != nil {
		e.T.Fatal(err)
	}
	if got := enginetest.Output[int](e, h.Key()); got != 7 {
		e.T.Errorf("got %d, want 7", got)
	}
	return h
}
