package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// careless has methods that expect a value behind the pointer, like most.
type careless struct{ inner error }

func (c *careless) Error() string { return c.inner.Error() }

func (c *careless) Unwrap() error { return c.inner }

func (c *careless) Is(target error) bool { return c.inner == target }

// vain says that it is whatever one asks for.
type vain struct{}

func (vain) Error() string { return "vain" }

func (vain) Is(error) bool { return true }

// A nil pointer that is returned as an error is a failure that says so. So is an error whose methods panic. Both hold
// for an activity, a side effect, and the orchestration itself.
func TestHazard43_TypedNilIsAFailureThatSaysSo(t *testing.T) {
	t.Parallel()
	var none1 *declinedError
	var none2 *careless
	for name, returned := range map[string]error{"plain": none1, "careless": none2, "wrapped": fmt.Errorf("so: %w", errors.Join(none2))} {
		calls := map[string]func(ctx *octx) error{
			"activity": func(ctx *octx) error {
				_, err := orchestration.CallActivityNamed[none](ctx, "call", none{})
				return err
			},
			"side effect": func(ctx *octx) error {
				_, err := orchestration.SideEffect(ctx, func() (none, error) { return none{}, returned })
				return err
			},
			"child": func(ctx *octx) error {
				_, err := orchestration.CallOrchestrationNamed[none](ctx, "child", none{})
				return err
			},
			"orchestration": func(*octx) error { return returned },
		}
		for where, call := range calls {
			t.Run(name+"/"+where, func(t *testing.T) {
				t.Parallel()
				enginetest.EveryMode(t, func(e *enginetest.Engine) {
					reg := registry(e.T)
					enginetest.Activity(e.T, reg, "call", func(context.Context, none) (none, error) { return none{}, returned })
					enginetest.Orchestration(e.T, reg, "child", func(*octx, none) (none, error) { return none{}, returned })
					key := start(e, reg, func(ctx *octx, _ none) (none, error) { return none{}, call(ctx) }, none{})
					if i := e.EndedOrBlocked(key); i.Status != provider.StatusFailed {
						e.T.Fatalf("%v, blocked %+v", i.Status, i.Blocked)
					}
					if _, err := enginetest.Result[none](e, key, nil); err == nil || !strings.Contains(err.Error(), "nil") {
						e.T.Errorf("got %v", err)
					}
				})
			})
		}
	}
}

// Only the engine's own cancellation makes an instance cancelled: not an error that claims
// to be everything, nor one that the code calls the same.
func TestHazard43_OnlyTheEnginesCancellationCounts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer func(err error) error
		want   provider.Status
	}{
		"the engine's":         {func(err error) error { return err }, provider.StatusCancelled},
		"wrapped":              {func(err error) error { return fmt.Errorf("stopping: %w", errors.Join(errRefused, err)) }, provider.StatusCancelled},
		"the sentinel":         {func(error) error { return orchestration.ErrCancelled }, provider.StatusCancelled},
		"after 20 undo steps":  {func(err error) error { return undo(err, 20, nil) }, provider.StatusCancelled},
		"after 100 undo steps": {func(err error) error { return undo(err, 100, nil) }, provider.StatusCancelled},
		"after undo steps fail": {
			func(err error) error { return undo(fmt.Errorf("sleeping: %w", err), 100, errors.New("undo failed")) }, provider.StatusCancelled,
		},
		"vain":                 {func(error) error { return vain{} }, provider.StatusFailed},
		"context.Canceled":     {func(error) error { return context.Canceled }, provider.StatusFailed},
		"another of that text": {func(error) error { return errors.New("cancelled") }, provider.StatusFailed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				if err := runtime.AddErrorType[vain](reg, "vain"); err != nil {
					e.T.Fatal(err)
				}
				key := start(e, reg, func(ctx *octx, _ none) (none, error) { return none{}, c.answer(ctx.Sleep(time.Hour)) }, none{})
				e.Cancel(key, "enough")
				if i := e.WaitEnded(key); i.Status != c.want {
					e.T.Errorf("instance is %v, want %v", i.Status, c.want)
				}
			})
		})
	}
}

// undo joins what each undo step returned to err, as a saga may do.
func undo(err error, steps int, undoErr error) error {
	for range steps {
		err = errors.Join(err, undoErr)
	}
	return err
}

// A tree of errors keeps its shape twenty deep. The rest is left out and the error says so, but registered errors of the rest
// are still found.
func TestHazard43_TreesOfErrors(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		if err := errors.Join(runtime.AddError(reg, "refused", errRefused), runtime.AddErrorType[*declinedError](reg, "declined")); err != nil {
			e.T.Fatal(err)
		}
		nested := func(err error, depth int) error {
			for range depth - 1 { // itself is one
				err = fmt.Errorf("w: %w", err)
			}
			return err
		}
		enginetest.Activity(e.T, reg, "fail", func(_ context.Context, depth int) (none, error) {
			left := errors.Join(errors.New("a"), errors.Join(&declinedError{7}, errors.New("b")))
			return none{}, errors.Join(left, nested(errRefused, depth))
		})
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			_, shallow := orchestration.CallActivityNamed[none](ctx, "fail", 19)
			declined, ok := errors.AsType[*declinedError](shallow)
			stored, _ := errors.AsType[*orchestration.Error](shallow)
			switch {
			case !errors.Is(shallow, errRefused) || !ok || declined.Code != 7:
				return none{}, fmt.Errorf("lost: %w", shallow)
			case len(stored.Causes) != 2 || shallow.Error() != "a\ndeclined 7\nb\n"+strings.Repeat("w: ", 18)+"refused":
				return none{}, fmt.Errorf("%d causes: %w", len(stored.Causes), shallow)
			}
			_, deep := orchestration.CallActivityNamed[none](ctx, "fail", 20)
			if !errors.Is(deep, errRefused) || !errors.As(deep, &declined) {
				return none{}, fmt.Errorf("too deep: %w", deep)
			}
			_, deep = orchestration.CallActivityNamed[none](ctx, "fail", 100)
			if !errors.Is(deep, errRefused) || !strings.Contains(fmt.Sprintf("%+v", messages(deep)), "causes left out") {
				return none{}, fmt.Errorf("far too deep: %w", deep)
			}
			return none{}, nil
		}, none{})
		enginetest.Output[none](e, key)
	})
}

// messages returns the messages of all stored errors in the tree of err.
func messages(err error) (all []string) {
	if stored, ok := err.(*orchestration.Error); ok { //nolint:errorlint // each error of the tree is looked at by itself
		all = append(all, stored.Message)
		for _, cause := range stored.Causes {
			all = append(all, messages(cause)...)
		}
	}
	return all
}
