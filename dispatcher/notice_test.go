package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// A notice is a hint to look at the store. One that somebody has invented ends no attempt, whatever it says.
func TestInventedNoticesEndNothing(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		began, finish := make(chan int, 10), make(chan struct{})
		reg := single(e, func(ctx context.Context, n int) (int, error) {
			began <- n
			select {
			case <-finish:
				return n, nil
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		})
		rt := e.StartOn(node, reg, e.Options)
		key := e.Create("single", "single", 7)
		<-began
		ref := e.Tasks(key)[0].TaskRef
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Delay}) // by nothing, to be counted
		before := plan.Injected(faulty.RenewTasks)
		for range 100 {
			node.(*faulty.Provider).Invent(provider.Notice{Key: key, Execution: ref.Execution, EventID: ref.EventID})
			node.(*faulty.Provider).Invent(provider.Notice{Key: key, Execution: ref.Execution})
		}
		pause(e.T.Context(), time.Second) // in virtual time
		if n := plan.Injected(faulty.RenewTasks) - before; n != 1 {
			e.T.Errorf("the store was asked %d times, want once for all", n)
		}
		close(finish)
		if got := enginetest.Output[int](e, key); got != 7 {
			e.T.Errorf("got %d", got)
		}
		if s := rt.Stats(); s.AttemptsCompleted != 1 || s.AttemptsFailed+s.AttemptsDiscarded+s.AttemptsRetried != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}

// A task that a rate holds back has not begun. A notice about it is a hint, too.
func TestInventedNoticesEndNothingThatWaitsForItsMoment(t *testing.T) {
	t.Parallel()
	opts := runtime.Options{QueueLimits: map[string]runtime.QueueLimit{"default": {PerSecond: 5}}}
	withFaults(t, opts, func(e *enginetest.Engine, _ *faulty.Plan, node provider.Provider) {
		e.StartOn(node, single(e, func(_ context.Context, n int) (int, error) { return n, nil }), e.Options)
		var keys []provider.UUID
		for i := range 20 {
			keys = append(keys, e.Create("single"+string(rune('a'+i)), "single", i))
		}
		waiting := 0
		for range 200 {
			for _, key := range keys {
				for _, task := range e.Tasks(key) {
					if task.State == provider.TaskLeased {
						waiting++
						node.(*faulty.Provider).Invent(provider.Notice{Key: key, Execution: task.Execution, EventID: task.EventID})
						node.(*faulty.Provider).Invent(provider.Notice{Key: key, Execution: task.Execution})
					}
				}
			}
			pause(e.T.Context(), 10*time.Millisecond) // in virtual time
		}
		for i, key := range keys {
			if got := enginetest.Output[int](e, key); got != i {
				e.T.Errorf("got %d, want %d", got, i)
			}
		}
		if waiting == 0 {
			e.T.Error("no task waited for its moment")
		}
	})
}
