package routing

import (
	"context"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// A node serves only its configured queues, although all activities are registered. Without queues it only makes turns.
// Calls on queues without a node wait, and health reports them.
func TestQueuesOfANode(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		registry := func() *runtime.Registry {
			reg := runtime.NewRegistry()
			for _, queue := range []string{"cpu", "gpu"} {
				enginetest.Activity(e.T, reg, queue+" work", func(context.Context, string) (string, error) { return queue, nil }, runtime.OnQueue(queue))
			}
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, queue string) (string, error) {
				return orchestration.CallActivityNamed[string](ctx, queue+" work", "", orchestration.WithQueue(queue))
			})
			return reg
		}
		opts := e.Options
		opts.MaxConcurrentActivities = runtime.Off
		turns := e.StartOn(e.Store, registry(), opts)
		cpu, gpu := e.Create("cpu", "main", "cpu"), e.Create("gpu", "main", "gpu")
		e.Until("both wait", func() bool { return len(e.Tasks(cpu)) == 1 && len(e.Tasks(gpu)) == 1 })
		rest(unit(e))
		health, err := turns.Health(e.T.Context())
		if err != nil || len(health.Unserved) != 2 {
			e.T.Errorf("unserved: %+v, %v", health.Unserved, err)
		}
		opts.MaxConcurrentActivities, opts.Queues = 0, []string{"gpu"}
		worker := e.StartOn(e.Store, registry(), opts)
		if got := enginetest.Output[string](e, gpu); got != "gpu" {
			e.T.Errorf("got %q", got)
		}
		e.Until("the worker has ended it", func() bool { return worker.Stats().AttemptsRunning == 0 })
		if tasks := e.Tasks(cpu); len(tasks) != 1 || tasks[0].Deliveries != 0 {
			e.T.Errorf("the other queue has %+v", tasks)
		}
		opts.Queues = []string{} // as nil: all
		e.StartOn(e.Store, registry(), opts)
		if got := enginetest.Output[string](e, cpu); got != "cpu" {
			e.T.Errorf("got %q", got)
		}
	})
}
