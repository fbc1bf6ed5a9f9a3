package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// A throttled queue with pools and few slots leaks neither slots nor places when its store fails. It leaks no lease
// when its node shuts down at any moment.
func TestThrottledQueueLosesNoPlaces(t *testing.T) {
	t.Parallel()
	opts := runtime.Options{
		MaxConcurrentActivities: 2, Pools: map[string]int{"one": 1},
		QueueLimits: map[string]runtime.QueueLimit{orchestration.DefaultQueue: {PerSecond: 20}},
	}
	withFaults(t, opts, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		registered := func() *runtime.Registry {
			reg := runtime.NewRegistry()
			quick := func(_ context.Context, n int) (int, error) { return n, nil }
			enginetest.Activity(e.T, reg, "pooled", quick, runtime.InPool("one"))
			enginetest.Activity(e.T, reg, "free", quick)
			enginetest.Orchestration(e.T, reg, "both", func(ctx *octx, n int) (int, error) {
				var all []orchestration.Future[int]
				for i := range n {
					all = append(all, orchestration.StartActivityNamed[int](ctx, []string{"pooled", "free"}[i%2], 1))
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
			return reg
		}
		ops := []faulty.Op{faulty.FetchTasks, faulty.ReportTasks, faulty.RenewTasks, faulty.Record, faulty.CommitTurn}
		plan.Add(faulty.Rule{Ops: ops, Kind: faulty.Before, Probability: 0.1})
		plan.Add(faulty.Rule{Ops: ops, Kind: faulty.After, Probability: 0.1})
		key := e.Create("one", "both", 400)
		for i := range 20 {
			rt := e.StartOn(node, registered(), opts)
			pause(e.T.Context(), 333*time.Millisecond+time.Duration(i)*7*time.Millisecond)
			e.Stop(rt)
		}
		plan.Clear()
		last := e.StartOn(node, registered(), opts)
		if got := enginetest.Output[int](e, key); got != 400 {
			e.T.Errorf("%d of 400", got)
		}
		e.Stop(last)
		for _, task := range e.Tasks(key) {
			e.T.Errorf("%+v", task)
		}
		enginetest.CheckLeases(e.T, e.Store)
	})
}
