package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

var errLate = errors.New("late")

// lateError is an error type of its own for each T.
type lateError[T any] struct{ Value int }

func (lateError[T]) Error() string { return "late type" }

// failing registers an orchestration that returns the error of an activity.
func failing(t *testing.T, reg *runtime.Registry, err error) {
	t.Helper()
	enginetest.Activity(t, reg, "fail", func(context.Context, int) (int, error) {
		return 0, orchestration.NonRetryable(err)
	})
	enginetest.Orchestration(t, reg, "failing", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "fail", n)
	})
}

// A node keeps running while its registry, which a client also reads, grows from several goroutines.
func TestRegistryGrowsBesideARunningNode(t *testing.T) {
	t.Parallel()
	e := enginetest.Memory(t, runtime.Options{})
	reg := runtime.NewRegistry()
	failing(t, reg, errOne)
	if err := runtime.AddError(reg, "one", errOne); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	stop := make(chan struct{})
	var adding sync.WaitGroup
	defer adding.Wait()
	defer close(stop)
	for g := range 2 {
		adding.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("late-%d-%d", g, i)
				err := errors.Join(
					runtime.AddError(reg, name, errors.New(name)),
					runtime.AddActivity(reg, activity.Define(name, Double)),
					runtime.AddOrchestration(reg, orchestration.Define(name, Twice)),
				)
				if i == 0 && g == 0 {
					err = errors.Join(err, runtime.AddErrorType[lateError[int]](reg, "late int"))
				}
				if err != nil {
					t.Error(err)
					return
				}
				if i == 500 { // enough to overlap; a set that grows for ever makes each addition dearer
					return
				}
			}
		})
	}
	for i := range 30 {
		key := e.Create(fmt.Sprintf("run-%d", i), "failing", 1)
		if _, err := enginetest.Result[int](e, key, reg.Errors()); !errors.Is(err, errOne) {
			t.Fatalf("run %d ended with %v, want %v", i, err, errOne)
		}
	}
}

// A node runs with what the registry held at Start.
func TestAddedAfterStartHasNoEffect(t *testing.T) {
	t.Parallel()
	e := enginetest.Memory(t, runtime.Options{})
	reg := runtime.NewRegistry()
	failing(t, reg, errors.Join(errLate, lateError[int]{7}))
	enginetest.Orchestration(t, reg, "calls late code", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivity(ctx, Double, n)
	})
	e.Start(reg)
	err := errors.Join(
		runtime.AddError(reg, "late", errLate),
		runtime.AddErrorType[lateError[int]](reg, "late type"),
		runtime.AddActivity(reg, Double),
	)
	if err != nil {
		t.Fatal(err)
	}
	_, err = enginetest.Result[int](e, e.Create("errors", "failing", 1), reg.Errors())
	if err == nil || errors.Is(err, errLate) {
		t.Errorf("the error registered after Start came back as itself: %v", err)
	}
	if late, ok := errors.AsType[lateError[int]](err); ok {
		t.Errorf("the error type registered after Start came back as itself: %v", late)
	}
	blocked := e.WaitBlocked(e.Create("code", "calls late code", 1), 1)
	if blocked.Blocked == nil {
		t.Error("an activity registered after Start is known to the node")
	}
}
