package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func TestChildResultAndFailure(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		if err := errors.Join(runtime.AddOrchestration(reg, Square), runtime.AddError(reg, "refused", errRefused)); err != nil {
			e.T.Fatal(err)
		}
		key := start(e, reg, func(ctx *octx, n int) ([]int, error) {
			if _, err := orchestration.CallOrchestration(ctx, Square, -1); !errors.Is(err, errRefused) {
				return nil, fmt.Errorf("failure of the child: %w", err)
			}
			futures := make([]orchestration.Future[int], n)
			for i := range futures {
				futures[i] = orchestration.StartOrchestration(ctx, Square, i)
			}
			return orchestration.All(ctx, futures...)
		}, 5)
		if diff := cmp.Diff([]int{0, 1, 4, 9, 16}, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// Square is a child that fails for negative numbers.
func Square(ctx *octx, n int) (int, error) {
	if n < 0 {
		return 0, errRefused
	}
	if ctx.Info().ParentID != "main" {
		return 0, fmt.Errorf("parent is %q", ctx.Info().ParentID)
	}
	return n * n, ctx.Sleep(time.Millisecond)
}

// The ID that the code chose is in use: the call fails with a typed error, the holder of
// the ID is left alone.
func TestChildIDInUse(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "wait", func(ctx *octx, _ none) (string, error) {
			return orchestration.Events[string](ctx, "go").Receive(ctx)
		})
		holder := e.Create("taken", "wait", none{})
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			for _, id := range []string{"taken", "main"} {
				_, err := orchestration.CallOrchestrationNamed[string](ctx, "wait", none{}, orchestration.WithInstanceID(id))
				if !errors.Is(err, orchestration.ErrExists) {
					return "", fmt.Errorf("ID %s: %w", id, err)
				}
			}
			child := orchestration.StartOrchestrationNamed[string](ctx, "wait", none{}, orchestration.WithInstanceID("free"))
			if _, err := orchestration.CallOrchestrationNamed[none](ctx, "wait", none{}, orchestration.WithInstanceID("")); !errors.Is(err, orchestration.ErrInvalid) {
				return "", fmt.Errorf("empty ID: %w", err)
			}
			return child.Get(ctx)
		}, none{})
		e.Until("the child is there", func() bool {
			_, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: "free"})
			return err == nil
		})
		res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: "free"})
		if err != nil {
			e.T.Fatal(err)
		}
		e.Raise(res.Instance.Key, "go", "went")
		if got := enginetest.Output[string](e, key); got != "went" {
			e.T.Errorf("got %q", got)
		}
		e.Raise(holder, "go", "untouched")
		if got := enginetest.Output[string](e, holder); got != "untouched" {
			e.T.Errorf("got %q", got)
		}
	})
}

// children lists the instances under a parent, oldest first.
func children(e *enginetest.Engine, parent provider.UUID) []provider.Instance {
	e.T.Helper()
	res, err := e.Store.List(e.T.Context(), provider.ListRequest{Filter: provider.Filter{ParentKey: parent}})
	if err != nil {
		e.T.Fatal(err)
	}
	return res.Instances
}

// tree registers a parent with the given code, and children that clean up when cancelled.
func tree(e *enginetest.Engine, parent func(ctx *octx, child orchestration.Future[none]) error) (key provider.UUID) {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, _ none) (none, error) {
		err := ctx.Sleep(1000 * time.Hour)
		if _, cleanup := orchestration.CallActivity(ctx.Detached(), Double, 1); cleanup != nil {
			return none{}, cleanup
		}
		return none{}, err
	})
	key = start(e, reg, func(ctx *octx, _ none) (none, error) {
		return none{}, parent(ctx, orchestration.StartOrchestrationNamed[none](ctx, "child", none{}))
	}, none{})
	e.Until("the child waits", func() bool {
		list := children(e, key)
		return len(list) == 1 && list[0].HistoryLength > 0
	})
	return key
}

// A child ends with its parent, whatever way that goes, and has the time to clean up.
func TestChildIsCancelledWithItsParent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		parent func(ctx *octx, child orchestration.Future[none]) error
		steer  func(e *enginetest.Engine, key provider.UUID)
		want   provider.Status
	}{
		"parent cancelled": {
			func(ctx *octx, child orchestration.Future[none]) error {
				_, err := child.Get(ctx)
				return err
			},
			func(e *enginetest.Engine, key provider.UUID) { e.Cancel(key, "enough") }, provider.StatusCancelled,
		},
		"parent returned": {
			func(ctx *octx, _ orchestration.Future[none]) error { return ctx.Sleep(time.Minute) },
			nil, provider.StatusCompleted,
		},
		"parent failed": {
			func(ctx *octx, _ orchestration.Future[none]) error {
				return errors.Join(ctx.Sleep(time.Minute), errRefused)
			},
			nil, provider.StatusFailed,
		},
		"future cancelled": {
			func(ctx *octx, child orchestration.Future[none]) error {
				err := ctx.Sleep(time.Minute)
				child.Cancel()
				return errors.Join(err, ctx.Sleep(time.Minute))
			},
			nil, provider.StatusCompleted,
		},
		"parent terminated": {
			func(ctx *octx, child orchestration.Future[none]) error {
				_, err := child.Get(ctx)
				return err
			},
			func(e *enginetest.Engine, key provider.UUID) { e.Terminate(key, "enough") }, provider.StatusTerminated,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				key := tree(e, c.parent)
				if c.steer != nil {
					c.steer(e, key)
				}
				if i := e.WaitEnded(key); i.Status != c.want {
					e.T.Errorf("parent is %v", i.Status)
				}
				child := e.WaitEnded(children(e, key)[0].Key)
				if child.Status != provider.StatusCancelled {
					e.T.Errorf("child is %v", child.Status)
				}
				if kinds := kinds(e.History(child.Key, 1)); !strings.Contains(kinds, "ActivityCompleted") {
					e.T.Errorf("the child could not clean up: %s", kinds)
				}
			})
		})
	}
}

func kinds(events []history.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Body.Kind().String()
	}
	return strings.Join(names, " ")
}

// A child that continues as new still returns its parent.
func TestChildKeepsItsParentOverContinueAsNew(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, n int) (string, error) {
			if _, err := orchestration.CallActivity(ctx, Double, n); err != nil {
				return "", err
			}
			if n > 0 {
				return "", orchestration.ContinueAsNew(ctx, n-1)
			}
			return ctx.Info().ParentID, nil
		})
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			return orchestration.CallOrchestrationNamed[string](ctx, "child", 3)
		}, none{})
		if got := enginetest.Output[string](e, key); got != "main" {
			e.T.Errorf("got %q", got)
		}
	})
}

// Automatic IDs follow from key, execution and event. They are equal on replay and
// different in the next execution. The result of a late child does not reach the new
// execution.
func TestChildIDsDifferPerExecution(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "name", func(_ context.Context, n int) (string, error) { return fmt.Sprint("child of ", n), nil })
		enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, n int) (string, error) {
			_ = ctx.Sleep(time.Hour) // cancelled with its parent's execution, the first one ends sooner
			return orchestration.CallActivityNamed[string](ctx.Detached(), "name", n)
		})
		key := start(e, reg, func(ctx *octx, n int) (string, error) {
			if n == 0 { // so that the child of both executions is event 3
				if _, err := orchestration.SideEffect(ctx, func() (int, error) { return 0, nil }); err != nil {
					return "", err
				}
			}
			child := orchestration.StartOrchestrationNamed[string](ctx, "child", n)
			if n == 0 {
				if err := ctx.Sleep(time.Second); err != nil {
					return "", err
				}
				return "", orchestration.ContinueAsNew(ctx, n+1)
			}
			return child.Get(ctx)
		}, 0)
		if got := enginetest.Output[string](e, key); got != "child of 1" {
			e.T.Errorf("got %q", got)
		}
		var ids []string
		for _, child := range children(e, key) {
			ids = append(ids, child.ID)
		}
		if diff := cmp.Diff([]string{key.String() + "/2/3", key.String() + "/1/3"}, ids); diff != "" {
			e.T.Error(diff)
		}
	})
}
