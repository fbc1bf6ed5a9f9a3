package dispatcher_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// A suspect that waits for another one does not block it for ever. After three deaths of nodes
// everything here is a suspect. The waiting activity can end only by the working one and the turn
// that follows.
func TestHazard11_SuspectMakesRoomForWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Shutdown: runtime.ShutdownOptions{DrainTimeout: runtime.Off}}, func(e *enginetest.Engine) {
		var f fleet
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "wait", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, n int) (int, error) {
			if activity.GetInfo(ctx).Deliveries <= 3 {
				f.kill()
				<-ctx.Done()
			}
			return n, ctx.Err()
		})
		enginetest.Orchestration(e.T, reg, "race", func(ctx *octx, n int) (int, error) {
			var racers []orchestration.Future[int]
			for range 40 {
				racers = append(racers, orchestration.StartActivityNamed[int](ctx, "wait", n))
			}
			got, _, err := orchestration.Race(ctx, append(racers, orchestration.StartActivityNamed[int](ctx, "work", n))...)
			return got, err
		})
		key := e.Create("race", "race", 7)
		deaths := f.run(e, reg, func() {
			if got := enginetest.Output[int](e, key); got != 7 {
				e.T.Errorf("got %d", got)
			}
		})
		if deaths != 3 {
			e.T.Errorf("%d nodes died", deaths)
		}
	})
}
