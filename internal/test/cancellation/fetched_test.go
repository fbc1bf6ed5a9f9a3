package cancellation

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// orphaning is a store whose first fetched tasks have lost the execution that wants their results, as if it had ended just before.
// Later fetches find nothing.
type orphaning struct {
	provider.Provider

	state provider.ExecutionState
	told  atomic.Bool
}

func (o *orphaning) Unwrap() provider.Provider { return o.Provider }

func (o *orphaning) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	if o.told.Load() {
		<-ctx.Done()
		return provider.FetchTasksResult{}, ctx.Err()
	}
	res, err := o.Provider.FetchTasks(ctx, req)
	for i := range res.Tasks {
		res.Tasks[i].State = o.state
		o.told.Store(true)
	}
	return res, err
}

// A worker looks at the state that a fetch reports by itself: an activity whose result nobody wants never runs, and its task is
// discarded.
func TestActivity_FetchedForAnEndedExecution(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]provider.ExecutionState{
		"terminal": {Kind: provider.ExecutionTerminal, Status: provider.StatusTerminated},
		"missing":  {Kind: provider.ExecutionMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
				var ran atomic.Bool
				turns, worker := runtime.NewRegistry(), runtime.NewRegistry()
				enginetest.Activity(t, worker, "work", func(context.Context, string) (string, error) { ran.Store(true); return "", nil })
				enginetest.Orchestration(t, turns, "main", func(ctx *octx, _ none) (string, error) { return begin(ctx, "work", "").Get(ctx) })
				rt := e.StartOn(&orphaning{Provider: e.Store, state: state}, worker, e.Options)
				e.Start(turns)
				key := e.Create("main", "main", none{})
				e.Until("the task is discarded", func() bool { return rt.Stats().AttemptsDiscarded > 0 })
				if ran.Load() {
					t.Error("the activity has run")
				}
				e.Terminate(key, "nothing of it is left")
			})
		})
	}
}
