package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

type pricer interface {
	Price(ctx context.Context, n int) (int, error)
}

func maker() func(context.Context, int) (int, error) {
	return func(_ context.Context, n int) (int, error) { return n, nil }
}

func genericFlow[T any](_ *octx, v T) (T, error) { return v, nil }

// The stored name is the bare name of the function, or Type.Method. Registration refuses
// functions that the compiler names as it likes, and names in use.
func TestHazard42_NamesAreGivenAtRegistration(t *testing.T) {
	t.Parallel()
	add := func(fn func(context.Context, int) (int, error)) func(*runtime.Registry) error {
		return func(r *runtime.Registry) error { return runtime.AddActivity(r, fn) }
	}
	flow := func(fn func(*octx, int) (int, error)) func(*runtime.Registry) error {
		return func(r *runtime.Registry) error { return runtime.AddOrchestration(r, fn) }
	}
	both := func(a, b func(*runtime.Registry) error) func(*runtime.Registry) error {
		return func(r *runtime.Registry) error { return errors.Join(a(r), b(r)) }
	}
	refused := map[string]func(*runtime.Registry) error{
		"closure":               add(func(_ context.Context, n int) (int, error) { return n, nil }),
		"closure of a function": add(maker()),
		"generic":               add(generic[int]),
		"orchestration closure": flow(func(_ *octx, n int) (int, error) { return n, nil }),
		"generic orchestration": flow(genericFlow[int]),
		"twice":                 both(add(Double), add(Double)),
		"second receiver":       both(add((&Shop{1}).Price), add((&Shop{2}).Price)),
		"second implementation": both(add(pricer(&Shop{1}).Price), add(pricer(&Shop{2}).Price)),
		"name given twice":      both(add(Double), add(activity.Define("Double", maker()))),
		"orchestration twice":   both(flow(Twice), flow(orchestration.Define("Twice", (&Shop{}).Checkout))),
	}
	for name, add := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := add(runtime.NewRegistry())
			if !errors.Is(err, runtime.ErrRegistration) || !strings.Contains(err.Error(), "Define") {
				t.Errorf("returned %v", err)
			}
		})
	}
	reg := runtime.NewRegistry()
	err := errors.Join(
		add(Double)(reg), add((&Shop{1}).Price)(reg), flow(Twice)(reg), flow((&Shop{1}).Checkout)(reg),
		add(activity.Define("closure", maker()))(reg), add(activity.Define("price", (&Shop{2}).Price))(reg),
		flow(orchestration.Define("generic", genericFlow[int]))(reg),
	)
	if err != nil {
		t.Error(err)
	}
}

// A call finds the stored name of the function that it is given, in a client, too. An
// unregistered or ambiguous function fails the turn with its name. The call never waits for
// ever.
func TestHazard42_CallsGoByTheFunction(t *testing.T) {
	t.Parallel()
	first, second := &Shop{factor: 3}, &Shop{factor: 5}
	calls := map[string]struct {
		fn   func(context.Context, int) (int, error)
		want string // the output, or part of what is shown of the blocked instance
	}{
		"function":          {Double, "14"},
		"given name":        {defined, "700"},
		"second receiver":   {secondPrice(second), "35"},
		"unregistered":      {Triple, `"Triple" is not registered`},
		"closure":           {maker(), "closure"},
		"interface":         {pricer(first).Price, `"pricer.Price" is not registered`},
		"ambiguous":         {first.Price, `under the names ["Shop.Price" "second"]`},
		"another of a name": {shadowed(), `registered with another function`},
	}
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				err := errors.Join(
					runtime.AddActivity(reg, defined), runtime.AddActivity(reg, first.Price), runtime.AddActivity(reg, secondPrice(second)),
					runtime.AddActivity(reg, activity.Define("Shadow", maker())),
				)
				if err != nil {
					e.T.Fatal(err)
				}
				main := orchestration.Define("main", func(ctx *octx, n int) (string, error) {
					v, err := orchestration.CallActivity(ctx, c.fn, n)
					return fmt.Sprint(v), err
				})
				if err := runtime.AddOrchestration(reg, main); err != nil {
					e.T.Fatal(err)
				}
				e.Start(reg)
				h, err := client.Start(e.T.Context(), clienttest.New(e.T, e.Store, client.Options{Errors: reg.Errors()}), main, 7)
				if err != nil {
					e.T.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(e.T.Context(), time.Hour)
				defer cancel()
				got, err := h.Wait(ctx, client.OrBlocked())
				if blocked, ok := errors.AsType[*client.BlockedError](err); ok {
					got, err = blocked.Message, nil
				}
				if err != nil || !strings.Contains(got, c.want) {
					e.T.Errorf("got %q, %v, want %q", got, err, c.want)
				}
			})
		})
	}
}

// Triple is an activity that is never registered.
func Triple(_ context.Context, n int) (int, error) { return 3 * n, nil }

// Shadow is an activity in whose name another function is registered.
func Shadow(_ context.Context, n int) (int, error) { return -n, nil }

func shadowed() func(context.Context, int) (int, error) { return Shadow }

var defined = activity.Define("hundredfold", func(_ context.Context, n int) (int, error) { return 100 * n, nil })

func secondPrice(s *Shop) func(context.Context, int) (int, error) {
	return activity.Define("second", s.Price)
}

// An unregistered child fails the turn with its name, and a client starts by function
// what was registered under a given name.
func TestHazard42_ChildrenGoByTheFunction(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		first, second := &Shop{factor: 3}, &Shop{factor: 5}
		if err := errors.Join(runtime.AddOrchestration(reg, first.Checkout),
			runtime.AddOrchestration(reg, orchestration.Define("second", second.Checkout))); err != nil {
			e.T.Fatal(err)
		}
		for name, child := range map[string]func(*octx, int) (int, error){
			`"Unknown" is not registered`:                Unknown,
			`under the names ["Shop.Checkout" "second"]`: first.Checkout,
		} {
			id := enginetest.NewID().String()
			enginetest.Orchestration(e.T, reg, id, func(ctx *octx, n int) (int, error) {
				return orchestration.CallOrchestration(ctx, child, n)
			})
			rt := e.Start(reg)
			if b := e.WaitBlocked(e.Create(id, id, 1), 1).Blocked; b.Reason != "not-registered" || !strings.Contains(b.Message, name) {
				e.T.Errorf("want %s: %+v", name, b)
			}
			e.Stop(rt)
		}
	})
}

// Unknown is an orchestration that is never registered.
func Unknown(_ *octx, n int) (int, error) { return n, nil }
