package pending

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// On every store a full pool delays further tasks, and the next one begins when a place is free. A parked fetch without
// the pool ends then, and loses nothing.
func TestPoolOnEveryStore(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{Pools: map[string]int{"small": 3}}, func(e *enginetest.Engine) {
		var now, most atomic.Int64
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "idle", func(_ context.Context, n int) (int, error) { return n, nil })
		enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) {
			defer now.Add(-1)
			for running := now.Add(1); ; {
				if before := most.Load(); running <= before || most.CompareAndSwap(before, running) {
					break
				}
			}
			time.Sleep(50 * time.Millisecond) //nolint:forbidigo // it is the work
			return n, nil
		}, runtime.InPool("small"))
		enginetest.Orchestration(e.T, reg, "main", func(ctx *orchestration.Context, n int) (int, error) {
			all := make([]orchestration.Future[int], n)
			for i := range all {
				all[i] = orchestration.StartActivityNamed[int](ctx, "work", i)
			}
			sum := 0
			for _, f := range all {
				v, err := f.Get(ctx)
				if err != nil {
					return 0, err
				}
				sum += v
			}
			return sum, nil
		})
		rt := e.Start(reg)
		began := time.Now()
		if got := enginetest.Output[int](e, e.Create("main", "main", 30)); got != 435 {
			e.T.Errorf("got %d", got)
		}
		if took := time.Since(began); took > 15*time.Second {
			e.T.Errorf("ten rounds of 50 ms took %v", took)
		}
		if s := rt.Stats(); most.Load() != 3 || s.LeasesLost != 0 || s.TasksHandedOff != 0 {
			e.T.Errorf("at most %d at the same time, %+v", most.Load(), s)
		}
	})
}
