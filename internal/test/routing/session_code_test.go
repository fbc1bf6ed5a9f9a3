package routing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// counters starts three nodes, each with a register of its own in memory, and one that makes turns.
func counters(e *engine, code func(*octx, int) ([]int, error)) {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "main", code)
	e.StartOn(e.Store, reg, runtime.Options{})
	for range 3 {
		count := make(map[string]int)
		own := runtime.NewRegistry()
		// It returns how often it has run here for its session, which is the memory of a node. Each second attempt succeeds.
		enginetest.Activity(e.T, own, "count", func(ctx context.Context, _ int) (int, error) {
			info := activity.GetInfo(ctx)
			if count[info.Session]++; info.Session == "" || info.Queue != "register" {
				return 0, orchestration.NonRetryable(fmt.Errorf("session %q on queue %q", info.Session, info.Queue))
			}
			if info.Attempt == 1 {
				return 0, errors.New("once more")
			}
			return count[info.Session], nil
		}, runtime.MaxConcurrent(1), runtime.OnQueue("register"))
		e.StartOn(e.Store, own, e.Options)
	}
}

// A retry of an activity of a session runs on the node of the session, which finds there what the attempt before has left.
func TestSessionRetriesOnItsNode(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		counters(e, func(ctx *octx, n int) ([]int, error) {
			var got []int
			for range n {
				v, err := orchestration.CallActivityNamed[int](ctx, "count", 0, orchestration.WithSession("s"), orchestration.WithQueue("register"),
					orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 1, MaxInterval: 1, MaxAttempts: 2}))
				if err != nil {
					return got, err
				}
				got = append(got, v)
			}
			return got, nil
		})
		if got := enginetest.Output[[]int](e, e.Create("main", "main", 4)); !slices.Equal(got, []int{2, 4, 6, 8}) {
			e.T.Errorf("the node has counted %v", got)
		}
	})
}

// A session belongs to its instance, not to an execution: it stays on its node when the instance continues as new.
func TestSessionGoesAlongAsNew(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		counters(e, func(ctx *octx, seen int) ([]int, error) {
			v, err := orchestration.CallActivityNamed[int](ctx, "count", 0, orchestration.WithSession("s"), orchestration.WithQueue("register"),
				orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 1, MaxInterval: 1, MaxAttempts: 2}))
			if err != nil || v != seen+2 {
				return nil, errors.Join(err, fmt.Errorf("execution %d finds %d on its node, want %d", ctx.Info().Execution, v, seen+2))
			}
			if ctx.Info().Execution < 4 {
				return nil, orchestration.ContinueAsNew(ctx, v)
			}
			return []int{v}, nil
		})
		if got := enginetest.Output[[]int](e, e.Create("main", "main", 0)); !slices.Equal(got, []int{8}) {
			e.T.Errorf("the node has counted %v", got)
		}
	})
}
