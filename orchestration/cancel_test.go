package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Cancellation reaches code as an error of whatever it waits for. Every further operation
// in the scope returns the same error. A detached scope cleans up.
func TestCancellationReachesTheCode(t *testing.T) {
	t.Parallel()
	waits := map[string]func(ctx *octx) error{
		"sleep": func(ctx *octx) error { return ctx.Sleep(time.Hour) },
		"activity": func(ctx *octx) error {
			_, err := orchestration.CallActivity(ctx, Hang, none{})
			return err
		},
		"event": func(ctx *octx) error {
			_, err := orchestration.Events[none](ctx, "never").Receive(ctx, orchestration.Within(time.Hour))
			return err
		},
		"select": func(ctx *octx) error {
			_, err := orchestration.Select(ctx, orchestration.Events[none](ctx, "never"))
			return err
		},
		"coroutine": func(ctx *octx) error {
			_, err := ctx.Go(func(ctx *octx) error { return ctx.Sleep(time.Hour) }).Get(ctx)
			return err
		},
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				cleaned := 0
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "clean", func(context.Context, none) (none, error) {
					cleaned++
					return none{}, nil
				})
				key := start(e, reg, func(ctx *octx, _ none) (none, error) {
					err := wait(ctx)
					if !errors.Is(err, orchestration.ErrCancelled) || !errors.Is(ctx.Err(), orchestration.ErrCancelled) {
						return none{}, fmt.Errorf("wait answered %w, scope %w", err, ctx.Err())
					}
					if _, again := orchestration.CallActivity(ctx, Double, 1); !errors.Is(again, orchestration.ErrCancelled) {
						return none{}, fmt.Errorf("operation in a cancelled scope: %w", again)
					}
					if _, cleanup := orchestration.CallActivityNamed[none](ctx.Detached(), "clean", none{}); cleanup != nil {
						return none{}, cleanup
					}
					return none{}, fmt.Errorf("order: %w", err)
				}, none{})
				e.Until("it waits", func() bool { return e.Get(key).HistoryLength > 0 })
				e.Cancel(key, "enough")
				_, err := enginetest.Result[none](e, key, nil)
				if i := e.Get(key); i.Status != provider.StatusCancelled || !errors.Is(err, orchestration.ErrCancelled) {
					e.T.Errorf("ended as %v with %v", i.Status, err)
				}
				if cleaned != 1 {
					e.T.Errorf("cleaned up %d times", cleaned)
				}
			})
		})
	}
}

// A running activity hears at once, not with the next renewal, and why.
func TestCancelledActivityHearsAtOnce(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		type heard struct {
			cause error
			after time.Duration
		}
		began, ended := make(chan time.Time, 1), make(chan heard, 1)
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, _ none) (none, error) {
			began <- time.Now()
			<-ctx.Done()
			ended <- heard{context.Cause(ctx), 0}
			return none{}, ctx.Err()
		})
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			scope, cancel := ctx.WithCancel()
			f := orchestration.StartActivityNamed[none](scope, "work", none{})
			if _, err := orchestration.Events[none](ctx, "stop").Receive(ctx); err != nil {
				return "", err
			}
			cancel()
			cancel() // once is enough
			if _, err := f.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
				return "", err
			}
			return "went on", ctx.Sleep(time.Hour)
		}, none{})
		<-began
		asked := time.Now()
		e.Raise(key, "stop", none{})
		h := <-ended
		if h.after = time.Since(asked); !errors.Is(h.cause, activity.ErrCancelled) || h.after > time.Second {
			e.T.Errorf("heard %v after %v", h.cause, h.after)
		}
		if got := enginetest.Output[string](e, key); got != "went on" {
			e.T.Errorf("got %q", got)
		}
	})
}

// A scope with a time limit ends what was begun in it, and nothing else.
func TestWithTimeout(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]string, error) {
			var got []string
			note := func(what string, err error) {
				switch {
				case err == nil:
					what += " fine"
				case errors.Is(err, orchestration.ErrTimeout):
					what += " timeout"
				case errors.Is(err, orchestration.ErrCancelled):
					what += " cancelled"
				}
				got = append(got, what)
			}
			outer, cancelOuter := ctx.WithTimeout(time.Hour)
			inner, cancelInner := outer.WithTimeout(2 * time.Hour)
			defer cancelOuter()
			defer cancelInner()
			note("inner", inner.Sleep(3*time.Hour))
			note("outer", outer.Err())
			note("root", ctx.Err())

			quick, cancel := ctx.WithTimeout(time.Hour)
			note("quick", quick.Sleep(time.Minute))
			cancel()
			note("after cancel", quick.Err())

			dead, cancelDead := ctx.WithTimeout(0)
			defer cancelDead()
			note("dead", dead.Err())

			var child error
			scope, stop := ctx.WithTimeout(time.Minute)
			defer stop()
			f := scope.Go(func(ctx *octx) error {
				child = ctx.Sleep(time.Hour)
				return child
			})
			_, err := f.Get(ctx)
			note("coroutine", err)
			return got, ctx.Sleep(5 * time.Hour)
		}, none{})
		want := []string{
			"inner timeout", "outer timeout", "root fine", "quick fine", "after cancel cancelled", "dead timeout", "coroutine timeout",
		}
		if diff := cmp.Diff(want, enginetest.Output[[]string](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// An instance that was cancelled may end otherwise: what its code returns counts.
func TestCodeMayAnswerCancellationInItsOwnWay(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer error
		want   provider.Status
	}{
		"result":        {nil, provider.StatusCompleted},
		"another error": {errRefused, provider.StatusFailed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				key := start(e, registry(e.T), func(ctx *octx, _ none) (none, error) {
					_ = ctx.Sleep(time.Hour)
					return none{}, c.answer
				}, none{})
				e.Cancel(key, "enough")
				if i := e.WaitEnded(key); i.Status != c.want {
					e.T.Errorf("ended as %v", i.Status)
				}
			})
		})
	}
}

// A scope's own ErrCancelled is no cancellation of the instance.
func TestScopeCancellationThatEscapesIsAFailure(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) (none, error) {
			scope, cancel := ctx.WithCancel()
			cancel()
			return none{}, scope.Sleep(time.Hour)
		}, none{})
		if i := e.WaitEnded(key); i.Status != provider.StatusFailed {
			e.T.Errorf("ended as %v", i.Status)
		}
	})
}

// An activity that a coroutine began and left to others is still cancelled with the
// scope that the coroutine was started in.
func TestCancellationReachesWhatACoroutineLeftOpen(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		ended := make(chan error, 1)
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, _ none) (none, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return none{}, ctx.Err()
		})
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			scope, cancel := ctx.WithCancel()
			var f orchestration.Future[none]
			if _, err := scope.Go(func(ctx *octx) error {
				f = orchestration.StartActivityNamed[none](ctx, "work", none{})
				return nil
			}).Get(ctx); err != nil {
				return "", err
			}
			if err := ctx.Sleep(time.Second); err != nil {
				return "", err
			}
			cancel()
			_, err := f.Get(ctx)
			return fmt.Sprint(errors.Is(err, orchestration.ErrCancelled)), nil
		}, none{})
		if got := enginetest.Output[string](e, key); got != "true" {
			e.T.Errorf("got %q", got)
		}
		if cause := <-ended; cause == nil {
			e.T.Error("no cause")
		}
	})
}
