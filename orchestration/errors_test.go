package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func exit() { goruntime.Goexit() }

type declinedError struct{ Code int }

func (e *declinedError) Error() string { return fmt.Sprintf("declined %d", e.Code) }

// Registered errors work with errors.Is and errors.As on the other side of the store. They do so from the activity into
// the orchestration, and from there to the client.
func TestHazard43_ErrorsKeepTheirIdentity(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		if err := errors.Join(runtime.AddError(reg, "refused", errRefused), runtime.AddErrorType[*declinedError](reg, "declined")); err != nil {
			e.T.Fatal(err)
		}
		enginetest.Activity(e.T, reg, "pay", func(context.Context, none) (none, error) {
			return none{}, fmt.Errorf("paying: %w", errors.Join(&declinedError{Code: 42}, errRefused, io.ErrUnexpectedEOF))
		})
		check := func(err error) error {
			declined, ok := errors.AsType[*declinedError](err)
			stored, _ := errors.AsType[*orchestration.Error](err)
			switch {
			case !ok || declined.Code != 42:
				return fmt.Errorf("declined is lost: %w", err)
			case !errors.Is(err, errRefused):
				return fmt.Errorf("refused is lost: %w", err)
			case errors.Is(err, io.ErrUnexpectedEOF):
				return errors.New("an unregistered error cannot be itself")
			case stored == nil || !strings.Contains(err.Error(), "unexpected EOF"):
				return fmt.Errorf("message is lost: %w", err)
			}
			return nil
		}
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			_, err := orchestration.CallActivityNamed[none](ctx, "pay", none{})
			if wrong := check(err); wrong != nil {
				return none{}, wrong
			}
			return none{}, fmt.Errorf("checkout: %w", err)
		}, none{})
		_, err := enginetest.Result[none](e, key, reg.Errors())
		if wrong := check(err); wrong != nil || !strings.HasPrefix(err.Error(), "checkout: paying: ") {
			e.T.Errorf("%v; %v", err, wrong)
		}
	})
}

// context.Canceled of an activity must not make the orchestration believe that it was
// cancelled itself, and an instance that fails with it has failed.
func TestHazard43_ContextCanceledOfAnActivityIsNoCancellation(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "call", func(context.Context, none) (none, error) { return none{}, context.Canceled })
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			_, err := orchestration.CallActivityNamed[none](ctx, "call", none{})
			if errors.Is(err, orchestration.ErrCancelled) || ctx.Err() != nil {
				return none{}, nil //nolint:nilerr // success is what the test must not see
			}
			return none{}, err
		}, none{})
		if i := e.WaitEnded(key); i.Status.String() != "Failed" {
			e.T.Errorf("instance is %v", i.Status)
		}
	})
}

// Past a limit there is a typed error for the code that crossed it, and nothing is stored.
func TestPayloadLimits(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 2000)
	settings := replay.SettingsAt(replay.EngineLevel)
	settings.MaxPayload = 1000
	cases := map[string]func(ctx *octx) error{
		"activity input": func(ctx *octx) error {
			_, err := orchestration.CallActivityNamed[none](ctx, "any", big)
			return err
		},
		"child input": func(ctx *octx) error {
			_, err := orchestration.CallOrchestrationNamed[none](ctx, "any", big)
			return err
		},
		"side effect": func(ctx *octx) error {
			_, err := orchestration.SideEffect(ctx, func() (string, error) { return big, nil })
			return err
		},
		"continue as new": func(ctx *octx) error { return orchestration.ContinueAsNew(ctx, big) },
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
					err := call(ctx)
					if !errors.Is(err, orchestration.ErrTooLarge) {
						return "", fmt.Errorf("not refused: %w", err)
					}
					return err.Error(), ctx.Sleep(1) // replays in some modes
				})
				e.Start(reg)
				key := e.CreateWith("main", "main", none{}, settings)
				if got := enginetest.Output[string](e, key); !strings.Contains(got, "the limit is 1000") {
					e.T.Errorf("error says %q", got)
				}
			})
		})
	}
	t.Run("output", func(t *testing.T) {
		t.Parallel()
		enginetest.EveryMode(t, func(e *enginetest.Engine) {
			reg := registry(e.T)
			enginetest.Orchestration(e.T, reg, "main", func(*octx, none) (string, error) { return big, nil })
			e.Start(reg)
			_, err := enginetest.Result[string](e, e.CreateWith("main", "main", none{}, settings), nil)
			if !errors.Is(err, orchestration.ErrTooLarge) {
				e.T.Errorf("got %v", err)
			}
		})
	})
	t.Run("activity output", func(t *testing.T) {
		t.Parallel()
		enginetest.EveryMode(t, func(e *enginetest.Engine) {
			reg := registry(e.T)
			runs := 0
			enginetest.Activity(e.T, reg, "big", func(context.Context, none) (string, error) {
				runs++
				return strings.Repeat("x", 2<<20), nil
			})
			key := start(e, reg, func(ctx *octx, _ none) (string, error) {
				return orchestration.CallActivityNamed[string](ctx, "big", none{}, orchestration.WithRetry(orchestration.RetryPolicy{}))
			}, none{})
			if _, err := enginetest.Result[string](e, key, nil); !errors.Is(err, orchestration.ErrTooLarge) || runs != 1 {
				e.T.Errorf("got %v after %d runs", err, runs)
			}
		})
	})
}

// A wrong input is the caller's mistake: the instance fails, and no retry is wasted on it.
func TestInputOfTheWrongTypeFails(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "Double", "two", orchestration.WithRetry(orchestration.RetryPolicy{}))
		})
		e.Start(reg)
		for id, in := range map[string]any{"wrong input of the instance": "one", "wrong input of the activity": 1} {
			_, err := enginetest.Result[int](e, e.Create(id, "main", in), nil)
			if !errors.Is(err, orchestration.ErrPayload) || !strings.Contains(err.Error(), "input") {
				e.T.Errorf("%s: %v", id, err)
			}
		}
	})
}
