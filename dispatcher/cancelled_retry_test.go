package dispatcher_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// A wait for the end of a cancelled activity does not wait for a further attempt. This also holds if the attempt timed
// out first, so that its context could not show the cancellation.
func TestCancelledAttemptIsNotRetried(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Activity(t, reg, "work", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			pause(context.WithoutCancel(ctx), 5*time.Second) // it tidies up; meanwhile it is cancelled
			return 0, activity.RetryAfter(context.Cause(ctx), time.Hour)
		})
		enginetest.Orchestration(t, reg, "main", func(ctx *octx, _ int) (string, error) {
			f := orchestration.StartActivityNamed[int](ctx, "work", 0, orchestration.WithStartToCloseTimeout(time.Second),
				orchestration.WithCancellation(orchestration.WaitForEnd), orchestration.WithRetry(orchestration.RetryPolicy{}))
			if err := ctx.Sleep(3 * time.Second); err != nil {
				return "", err
			}
			f.Cancel()
			began := ctx.Now()
			_, err := f.Get(ctx)
			if !errors.Is(err, orchestration.ErrCancelled) {
				return "", err
			}
			return ctx.Now().Sub(began).Round(time.Second).String(), nil
		})
		rt := e.Start(reg)
		if took := enginetest.Output[string](e, e.Create("one", "main", 0)); took != "3s" {
			t.Errorf("the call ended %s after it was cancelled, the activity was back after 3s", took)
		}
		if n := rt.Stats().AttemptsRetried; n != 0 {
			t.Errorf("%d attempts were given back for another one", n)
		}
	})
}
