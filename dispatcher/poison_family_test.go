package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// A poisoned activity of a child fails the child, and so its parent, which may recover. Each of them can tell why.
func TestPoisonGoesUpTheFamily(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{PoisonLimit: 2}, func(e *enginetest.Engine) {
		turns, worker := separate(e, func(_ context.Context, n int) (int, error) { return n, nil })
		enginetest.Orchestration(e.T, turns, "parent", func(ctx *octx, _ none) (int, error) {
			return orchestration.CallOrchestrationNamed[int](ctx, "single", 1, orchestration.WithInstanceID("child"))
		})
		enginetest.Orchestration(e.T, turns, "top", func(ctx *octx, _ none) (int, error) {
			if _, err := orchestration.CallOrchestrationNamed[int](ctx, "parent", none{}, orchestration.WithInstanceID("parent")); !errors.Is(err, orchestration.ErrPoisoned) {
				return 0, fmt.Errorf("the parent ended with %w", err)
			}
			return orchestration.CallOrchestrationNamed[int](ctx, "single", 7)
		})
		e.Start(turns)
		key := e.Create("top", "top", none{})
		for range 2 {
			lose(e, "work", time.Second)
		}
		e.Start(worker)
		if got := enginetest.Output[int](e, key); got != 7 {
			e.T.Errorf("got %d", got)
		}
		for _, id := range []string{"child", "parent"} {
			res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: id})
			if err != nil || res.Instance.Status != provider.StatusFailed {
				e.T.Errorf("%s is %v, %v", id, res.Instance.Status, err)
			}
		}
		if dead := deadLetters(e); len(dead) != 1 || dead[0].InstanceID != "child" {
			e.T.Errorf("dead letters %+v", dead)
		}
	})
}
