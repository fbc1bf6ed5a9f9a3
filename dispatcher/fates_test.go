package dispatcher_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// forgetful is a store whose node renews some leases by a wrong token.
type forgetful struct {
	*provider.Full

	mu      sync.Mutex
	wrong   map[provider.UUID]bool
	largest int // items in one call, as long as tokens are wrong
}

func (f *forgetful) Unwrap() provider.Provider { return f.Provider }

func (f *forgetful) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	f.mu.Lock()
	if len(f.wrong) > 0 {
		f.largest = max(f.largest, len(req.Items))
	}
	for i := range req.Items {
		if f.wrong[req.Items[i].Key] {
			req.Items[i].Token = enginetest.NewID()
		}
	}
	f.mu.Unlock()
	return f.Provider.RenewTasks(ctx, req)
}

// One renewal returns the state of the waiting execution for each of its tasks, and the node tells each activity just
// that. A missing or ended execution takes precedence over a lost lease. One wrong token does not affect the others.
func TestHazard31_EachOfABatchHearsItsOwn(t *testing.T) {
	t.Parallel()
	const (
		deleted = iota
		terminated
		cancelled
		robbed
		running
	)
	want := map[int]error{
		deleted: activity.ErrOrchestrationMissing, terminated: activity.ErrOrchestrationEnded, cancelled: activity.ErrCancelled,
		robbed: activity.ErrLeaseLost,
	}
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		plan := faulty.NewPlan(1)
		plan.DropNotices(true)
		store := &forgetful{Full: provider.FullOf(faulty.Wrap(e.Store, plan)), wrong: map[provider.UUID]bool{}}
		began, end := make(chan struct{}, 10), make(chan struct{})
		var mu sync.Mutex
		told, at := map[int]error{}, map[time.Time]bool{}
		turns, worker := runtime.NewRegistry(), runtime.NewRegistry()
		enginetest.Activity(e.T, worker, "work", func(ctx context.Context, n int) (int, error) {
			if activity.GetInfo(ctx).Deliveries > 1 {
				return n, nil
			}
			began <- struct{}{}
			select {
			case <-end:
				return n, nil
			case <-ctx.Done():
				mu.Lock()
				told[n], at[time.Now()] = context.Cause(ctx), true
				mu.Unlock()
				return 0, ctx.Err()
			}
		})
		enginetest.Orchestration(e.T, turns, "main", func(ctx *octx, n int) (int, error) {
			f := orchestration.StartActivityNamed[int](ctx, "work", n)
			if n != cancelled {
				return f.Get(ctx)
			}
			stop := orchestration.Events[none](ctx, "go on")
			_, first := stop.Receive(ctx)
			f.Cancel()
			_, second := stop.Receive(ctx)
			return n, errors.Join(first, second)
		})
		e.Start(turns)
		e.StartOn(store, worker, e.Options)
		var keys []provider.UUID
		for n, id := range []string{"deleted", "terminated", "cancelled", "robbed", "running"} {
			keys = append(keys, e.Create(id, "main", n))
		}
		for range keys {
			<-began
		}
		store.mu.Lock()
		for _, n := range []int{deleted, terminated, robbed} {
			store.wrong[keys[n]] = true
		}
		store.mu.Unlock()
		if _, err := e.Store.Delete(e.T.Context(), provider.DeleteRequest{Key: keys[deleted], Force: true}); err != nil {
			e.T.Fatal(err)
		}
		e.Terminate(keys[terminated], "enough")
		e.Raise(keys[cancelled], "go on", none{})
		e.Until("all are told", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(told) >= len(want)
		})
		close(end)
		e.Raise(keys[cancelled], "go on", none{})
		for _, n := range []int{cancelled, robbed, running} {
			if got := enginetest.Output[int](e, keys[n]); got != n {
				e.T.Errorf("%d answered %d", n, got)
			}
		}
		for n := range keys {
			if !errors.Is(told[n], want[n]) {
				e.T.Errorf("activity %d was told %v, want %v", n, told[n], want[n])
			}
		}
		if store.largest != len(keys) || len(at) != 1 {
			e.T.Errorf("at most %d were renewed together, and told at %v", store.largest, at)
		}
	})
}
