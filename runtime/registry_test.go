package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func generic[T any](_ context.Context, v T) (T, error) { return v, nil }

type unreadable struct {
	Name string
	Hook func()
}

type coded struct{ Code int }

func (*coded) Error() string { return "coded" }

var errOne, errTwo = errors.New("one"), errors.New("two")

// Each mistake is refused where it is made, says what to do, and keeps the node from
// starting without what it was to have.
func TestRegistrationIsChecked(t *testing.T) {
	t.Parallel()
	add := func(fn func(context.Context, int) (int, error), opts ...runtime.RegisterOption) func(*runtime.Registry) error {
		return func(r *runtime.Registry) error { return runtime.AddActivity(r, fn, opts...) }
	}
	closure := func(_ context.Context, n int) (int, error) { return n, nil }
	cases := map[string]struct {
		add  func(r *runtime.Registry) error
		want string
	}{
		"closure":      {add(closure), "Define"},
		"generic":      {add(generic[int]), "Define"},
		"nil activity": {add(nil), "nil"},
		"empty name":   {add(activity.Define("", closure)), "empty"},
		"NUL in name":  {add(activity.Define("a\x00b", closure)), "NUL"},
		"bad UTF-8":    {add(activity.Define("\xff", closure)), "UTF-8"},
		"long name":    {add(activity.Define(strings.Repeat("n", 513), closure)), "512"},
		"reserved":     {add(activity.Define("perdure.x", closure)), "perdure itself"},
		"empty queue":  {add(Double, runtime.OnQueue("")), "queue"},
		"twice":        {func(r *runtime.Registry) error { return errors.Join(add(Double)(r), add(Double)(r)) }, "in use"},
		"second method": {func(r *runtime.Registry) error {
			return errors.Join(add((&Shop{1}).Price)(r), add((&Shop{2}).Price)(r))
		}, "in use"},
		"input": {func(r *runtime.Registry) error {
			return runtime.AddActivity(r, activity.Define("x", func(context.Context, unreadable) (none, error) { return none{}, nil }))
		}, "Hook"},
		"output": {func(r *runtime.Registry) error {
			return runtime.AddOrchestration(r, orchestration.Define("x", func(*octx, none) (chan int, error) { return nil, nil }))
		}, "output"},
		"nil orchestration": {func(r *runtime.Registry) error { return runtime.AddOrchestration[none, none](r, nil) }, "nil"},
		"orchestration twice": {func(r *runtime.Registry) error {
			return errors.Join(runtime.AddOrchestration(r, Twice), runtime.AddOrchestration(r, Twice))
		}, "in use"},
		"error twice": {func(r *runtime.Registry) error {
			return errors.Join(runtime.AddError(r, "e", errOne), runtime.AddError(r, "e", errTwo))
		}, "given to another"},
		"error type twice": {func(r *runtime.Registry) error {
			return errors.Join(runtime.AddErrorType[*coded](r, "a"), runtime.AddErrorType[*coded](r, "b"))
		}, "already registered"},
		"nil error": {func(r *runtime.Registry) error { return runtime.AddError(r, "e", nil) }, "nil"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := runtime.NewRegistry()
			err := c.add(reg)
			if !errors.Is(err, runtime.ErrRegistration) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("returned %v, want something of %q", err, c.want)
			}
			rt, err := runtime.Start(t.Context(), memory.New(memory.Options{}), reg, runtime.Options{})
			if rt != nil || !errors.Is(err, runtime.ErrRegistration) {
				t.Errorf("started all the same: %v", err)
			}
		})
	}
}

// Methods are known by type and name, and one function may serve several queues under
// its name.
func TestNamesOfFunctions(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		shop := &Shop{factor: 3}
		reg := runtime.NewRegistry()
		err := errors.Join(
			runtime.AddOrchestration(reg, Twice), runtime.AddOrchestration(reg, shop.Checkout),
			runtime.AddActivity(reg, Double), runtime.AddActivity(reg, Double, runtime.OnQueue("other")),
			runtime.AddActivity(reg, shop.Price),
		)
		if err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		a, b := e.Create("a", "Twice", 7), e.Create("b", "Shop.Checkout", 7)
		if got := enginetest.Output[int](e, a); got != 14 {
			e.T.Errorf("Twice returned %d", got)
		}
		if got := enginetest.Output[int](e, b); got != 21 {
			e.T.Errorf("Checkout returned %d", got)
		}
	})
}

// Two functions of one name, each on its queue: the call goes by the function, in
// whatever order they were registered.
func TestOneNameOnTwoQueues(t *testing.T) {
	t.Parallel()
	for range 10 { // maps have no order
		enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
			reg := runtime.NewRegistry()
			enginetest.Activity(e.T, reg, "Double", func(_ context.Context, n int) (int, error) { return 20 * n, nil }, runtime.OnQueue("twenty"))
			if err := errors.Join(runtime.AddActivity(reg, Double), runtime.AddOrchestration(reg, Twice)); err != nil {
				e.T.Fatal(err)
			}
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
				v, err := orchestration.CallActivity(ctx, Double, n, orchestration.WithQueue("twenty"))
				if err != nil {
					return 0, err
				}
				return orchestration.CallActivity(ctx, Double, v)
			})
			e.Start(reg)
			if got := enginetest.Output[int](e, e.Create("main", "main", 1)); got != 40 {
				e.T.Errorf("got %d", got)
			}
		})
	}
}

// Additions after Start have no effect on a running node.
func TestRegistryIsReadAtStart(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		if err := runtime.AddOrchestration(reg, Twice); err != nil {
			e.T.Fatal(err)
		}
		rt := e.Start(reg)
		if err := runtime.AddActivity(reg, Double); err != nil {
			e.T.Fatal(err)
		}
		key := e.Create("a", "Twice", 7)
		b := e.WaitBlocked(key, 1).Blocked
		if b.Reason != "not-registered" {
			e.T.Errorf("%+v", b)
		}
		e.Stop(rt)
		e.Start(reg)
		if got := enginetest.Output[int](e, key); got != 14 {
			e.T.Errorf("the next start returned %d", got)
		}
	})
}
