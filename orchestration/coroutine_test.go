package orchestration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Coroutines share variables and run in an order that is the same each time.
func TestGoRunsInOrder(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) ([]int, error) {
			var order []int
			futures := make([]orchestration.Future[none], n)
			for i := range n {
				futures[i] = ctx.Go(func(ctx *octx) error {
					order = append(order, i)
					_, err := orchestration.CallActivity(ctx, Double, i)
					return err
				})
			}
			_, err := orchestration.All(ctx, futures...)
			return order, err
		}, 5)
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

func TestGoFutureCarriesTheErrorItself(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) (bool, error) {
			own := errors.New("mine")
			failed := ctx.Go(func(*octx) error { return own })
			nested := ctx.Go(func(ctx *octx) error {
				return func() error {
					_, err := ctx.Go(func(ctx *octx) error { return ctx.Sleep(time.Second) }).Get(ctx)
					return err
				}()
			})
			if _, err := nested.Get(ctx); err != nil {
				return false, err
			}
			_, err := failed.Get(ctx)
			return errors.Is(err, own), nil
		}, none{})
		if !enginetest.Output[bool](e, key) {
			e.T.Error("the error is another one")
		}
	})
}

// A coroutine that still runs when the function returns ends there, and its defers run.
func TestGoEndsWithTheOrchestration(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		ended := make(chan struct{}, 100)
		key := start(e, registry(e.T), func(ctx *octx, _ none) (string, error) {
			ctx.Go(func(ctx *octx) error {
				defer func() { ended <- struct{}{} }()
				return ctx.Sleep(time.Hour * 1000)
			})
			return "done", ctx.Sleep(time.Minute)
		}, none{})
		if got := enginetest.Output[string](e, key); got != "done" {
			e.T.Errorf("got %q", got)
		}
		<-ended
	})
}

// Cancelling the future of a coroutine cancels its scope.
func TestCancelOfAGoFuture(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) (string, error) {
			var inner error
			f := ctx.Go(func(ctx *octx) error {
				inner = ctx.Sleep(time.Hour)
				return inner
			})
			if err := ctx.Sleep(time.Second); err != nil {
				return "", err
			}
			f.Cancel()
			if _, err := f.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
				return "", fmt.Errorf("future: %w", err)
			}
			if err := ctx.Sleep(time.Second); err != nil {
				return "", err
			}
			return fmt.Sprint(errors.Is(inner, orchestration.ErrCancelled)), nil
		}, none{})
		if got := enginetest.Output[string](e, key); got != "true" {
			e.T.Errorf("got %q", got)
		}
	})
}

func TestThousandCoroutines(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]runtime.Options{"cached": {}, "evicted": {Cache: runtime.CacheOptions{Bytes: 1}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
				key := start(e, registry(e.T), func(ctx *octx, n int) (int, error) {
					woken := 0
					futures := make([]orchestration.Future[none], n)
					for i := range n {
						futures[i] = ctx.Go(func(ctx *octx) error {
							// Fifty at a time, so that the evicted mode replays twenty times.
							err := ctx.Sleep(time.Duration(i/50+1) * time.Second)
							woken++
							return err
						})
					}
					_, err := orchestration.All(ctx, futures...)
					return woken, err
				}, 1000)
				if got := enginetest.Output[int](e, key); got != 1000 {
					e.T.Errorf("%d woke", got)
				}
			})
		})
	}
}

// Two coroutines that wait for one mailbox get one event each, in order.
func TestCoroutinesShareAMailbox(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]string, error) {
			var got []string
			take := func(name string) orchestration.Future[none] {
				return ctx.Go(func(ctx *octx) error {
					v, err := orchestration.Events[int](ctx, "box").Receive(ctx)
					got = append(got, fmt.Sprint(name, v))
					return err
				})
			}
			_, err := orchestration.All(ctx, take("a"), take("b"), take("c"))
			return got, err
		}, none{})
		for i := range 3 {
			e.Raise(key, "box", i)
		}
		if diff := cmp.Diff([]string{"a0", "b1", "c2"}, enginetest.Output[[]string](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// A context only carries scope: a blocking call acts on the coroutine that makes it,
// whichever context it was made with.
func TestHazard09_OuterContextInACoroutine(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) ([]int, error) {
			var order []int
			var inner *octx
			futures := make([]orchestration.Future[none], n)
			for i := range futures {
				futures[i] = ctx.Go(func(own *octx) error {
					inner = own
					if err := ctx.Sleep(time.Duration(n-i) * time.Minute); err != nil {
						return err
					}
					v, err := orchestration.CallActivity(ctx, Double, i)
					order = append(order, v)
					return errors.Join(err, own.Sleep(time.Hour))
				})
			}
			if err := ctx.Sleep(30 * time.Second); err != nil {
				return nil, err
			}
			if err := inner.Sleep(time.Second); err != nil { // of a coroutine that still runs
				return nil, err
			}
			_, err := orchestration.All(ctx, futures...)
			return order, err
		}, 3)
		if diff := cmp.Diff([]int{4, 2, 0}, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}
