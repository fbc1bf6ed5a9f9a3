package dispatcher_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// A cancelled call that waits for its activity's end does not wait for the delay of a retry. The retry came from a node
// that had not heard of the cancellation.
func TestCancelledTaskIsQueuedWithoutDelay(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		plan.DropNotices(true)
		turns, worker := runtime.NewRegistry(), runtime.NewRegistry()
		enginetest.Activity(e.T, worker, "work", func(ctx context.Context, _ int) (int, error) {
			pause(ctx, 3*time.Second)
			return 0, activity.RetryAfter(errors.New("busy"), time.Hour)
		})
		enginetest.Orchestration(e.T, turns, "main", func(ctx *octx, _ int) (string, error) {
			f := orchestration.StartActivityNamed[int](ctx, "work", 0,
				orchestration.WithCancellation(orchestration.WaitForEnd), orchestration.WithRetry(orchestration.RetryPolicy{}))
			if err := ctx.Sleep(2 * time.Second); err != nil {
				return "", err
			}
			f.Cancel()
			began := ctx.Now()
			_, err := f.Get(ctx)
			return ctx.Now().Sub(began).Round(time.Second).String(), unlessCancelled(err)
		})
		e.StartOn(node, worker, runtime.Options{})
		e.StartOn(node, turns, runtime.Options{})
		if took := enginetest.Output[string](e, e.Create("one", "main", 0)); took != "1s" {
			e.T.Errorf("the call ended %s after it was cancelled, the attempt after 1s", took)
		}
	})
}

// unlessCancelled lets the end of a cancelled call pass.
func unlessCancelled(err error) error {
	if errors.Is(err, orchestration.ErrCancelled) {
		return nil
	}
	return err
}
