package dispatcher_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type (
	octx = orchestration.Context
	none = orchestration.None
)

// Double is an activity that succeeds.
func Double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// Chain calls Double n times in sequence.
func Chain(ctx *octx, n int) (int, error) {
	total := 1
	for range n {
		v, err := orchestration.CallActivity(ctx, Double, total)
		if err != nil {
			return 0, err
		}
		total = v & 0xffff
	}
	return total, nil
}

// registry makes a registry with Chain and Double.
func registry(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddActivity(reg, Double), runtime.AddOrchestration(reg, Chain)); err != nil {
		t.Fatal(err)
	}
	return reg
}

// single registers an orchestration that calls one activity, "work", once.
func single(e *enginetest.Engine, work func(context.Context, int) (int, error), opts ...orchestration.ActivityOption) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Activity(e.T, reg, "work", work)
	enginetest.Orchestration(e.T, reg, "single", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "work", n, opts...)
	})
	return reg
}

// separate is single for two nodes: one makes the turns, the other fetches the activity.
func separate(
	e *enginetest.Engine, work func(context.Context, int) (int, error), opts ...orchestration.ActivityOption,
) (turns, worker *runtime.Registry) {
	e.T.Helper()
	turns, worker = runtime.NewRegistry(), runtime.NewRegistry()
	enginetest.Orchestration(e.T, turns, "single", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "work", n, opts...)
	})
	enginetest.Activity(e.T, worker, "work", work)
	return turns, worker
}

// withFaults runs a test in virtual time with a node whose store has faults.
func withFaults(t *testing.T, opts runtime.Options, test func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider)) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
		plan := faulty.NewPlan(seed)
		test(e, plan, faulty.Wrap(e.Store, plan))
	})
}

// results counts how often the result of each activity is in the history. None may be
// there twice.
func results(e *enginetest.Engine, key provider.UUID) map[int64]int {
	e.T.Helper()
	count := map[int64]int{}
	for _, event := range e.History(key, 1) {
		switch b := event.Body.(type) {
		case *history.ActivityCompleted:
			count[b.Scheduled]++
		case *history.ActivityFailed:
			count[b.Scheduled]++
		}
	}
	for id, n := range count {
		if n != 1 {
			e.T.Errorf("event %d has %d results", id, n)
		}
	}
	return count
}
