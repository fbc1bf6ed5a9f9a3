package transactions

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// bookkeeper registers an orchestration "book" that calls an activity with up to four attempts.
func bookkeeper(t *testing.T, work func(context.Context, int) (int, error)) func(*runtime.Registry) {
	t.Helper()
	return func(reg *runtime.Registry) {
		enginetest.Activity(t, reg, "enter", work)
		enginetest.Orchestration(t, reg, "book", func(ctx *orchestration.Context, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "enter", n,
				orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Millisecond, MaxAttempts: 4}))
		})
	}
}

// book runs one instance of "book" and returns its outcome.
func book(t *testing.T, c *client.Client, n int) (int, error) {
	t.Helper()
	h, err := client.StartNamed[int](t.Context(), c, "book", n)
	if err != nil {
		t.Fatal(err)
	}
	return h.Wait(t.Context())
}

// The effect of failed attempts, in the body or in the function, is not stored. That of the completed attempt is stored
// once.
func TestEffectCountsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		var bodies, functions atomic.Int64
		c := node(t, h, bookkeeper(t, func(ctx context.Context, n int) (int, error) {
			err := h.onComplete(ctx, func(tx transaction) error {
				if err := tx.exec(enter); err != nil {
					return err
				}
				if functions.Add(1) == 1 {
					return errors.New("the first function fails")
				}
				return nil
			})
			if bodies.Add(1) == 1 {
				return 0, errors.New("the first body fails")
			}
			return n, err
		}))
		if got, err := book(t, c, 7); err != nil || got != 7 {
			t.Errorf("the instance returned %d, %v", got, err)
		}
		if bodies.Load() != 3 || functions.Load() != 2 {
			t.Errorf("%d bodies and %d functions ran, want 3 and 2", bodies.Load(), functions.Load())
		}
		h.ledger(t, 1)
	})
}

// Without a retry, the function's error is the activity's.
func TestFunctionFailsTheActivity(t *testing.T) {
	t.Parallel()
	failures := map[string]struct {
		fn   func(transaction) error
		want error
		text string
	}{
		"error":  {func(transaction) error { return errors.New("no funds") }, nil, "no funds"},
		"panic":  {func(transaction) error { panic("oops") }, orchestration.ErrPanic, "oops"},
		"goexit": {func(transaction) error { goruntime.Goexit(); return nil }, orchestration.ErrPanic, "Goexit"},
		"statement": {
			func(tx transaction) error { return tx.exec(`INSERT INTO no_such_table VALUES (1)`) }, nil, "no_such_table",
		},
		"constraint": {
			func(tx transaction) error {
				return errors.Join(tx.exec(enter), tx.exec(`INSERT INTO ledger VALUES (NULL)`))
			}, nil, "constraint",
		},
	}
	each(t, func(t *testing.T, h *house) {
		c := node(t, h, func(reg *runtime.Registry) {
			enginetest.Activity(t, reg, "enter", func(ctx context.Context, how string) (int, error) {
				return 0, h.onComplete(ctx, func(tx transaction) error {
					return errors.Join(tx.exec(enter), failures[how].fn(tx))
				})
			})
			enginetest.Orchestration(t, reg, "once", func(ctx *orchestration.Context, how string) (int, error) {
				return orchestration.CallActivityNamed[int](ctx, "enter", how)
			})
		})
		for how, want := range failures {
			handle, err := client.StartNamed[int](t.Context(), c, "once", how)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = handle.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), want.text) || want.want != nil && !errors.Is(err, want.want) {
				t.Errorf("%s: the instance ended with %v", how, err)
			}
		}
		h.ledger(t, 0)
	})
}

// A function that ends its transaction does not end the completion. Committed effects are stored with the completion,
// rolled-back ones are not. The activity completes either way.
func TestFunctionEndsItsTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		c := node(t, h, bookkeeper(t, func(ctx context.Context, n int) (int, error) {
			return n, h.onComplete(ctx, func(tx transaction) error {
				end := tx.commit
				if n == 2 {
					end = tx.rollback
				}
				return errors.Join(tx.exec(enter), end())
			})
		}))
		for n := range 3 {
			if got, err := book(t, c, n); err != nil || got != n {
				t.Errorf("the instance returned %d, %v", got, err)
			}
		}
		h.ledger(t, 2)
	})
}

// Starts and events that a function makes through the same transaction are stored exactly once, too.
func TestFunctionStartsInstances(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		var c *client.Client
		ready := make(chan struct{})
		c = node(t, h, bookkeeper(t, func(ctx context.Context, n int) (int, error) {
			<-ready
			return n, h.onComplete(ctx, func(tx transaction) error {
				_, err := client.Start(ctx, c, Echo, n, client.WithID(fmt.Sprint("next-", n)), tx.tx)
				return errors.Join(err, c.Raise(ctx, "await", "word", "told", tx.tx))
			})
		}))
		close(ready)
		await, err := client.Start(t.Context(), c, Await, struct{}{}, client.WithID("await"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := book(t, c, 5); err != nil {
			t.Fatal(err)
		}
		next, err := client.Lookup[int](t.Context(), c, "next-5")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := next.Wait(t.Context()); err != nil || got != 5 {
			t.Errorf("the instance of the function returned %d, %v", got, err)
		}
		if word, err := await.Wait(t.Context()); err != nil || word != "told" {
			t.Errorf("the event of the function arrived as %q, %v", word, err)
		}
	})
}

// An activity whose orchestration has ended meanwhile has no effect.
func TestNoEffectAfterTheEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		began, ended := make(chan struct{}), make(chan struct{})
		over := make(chan struct{})
		c := node(t, h, bookkeeper(t, func(ctx context.Context, n int) (int, error) {
			defer close(over)
			close(began)
			<-ended
			return n, h.onComplete(ctx, func(tx transaction) error { return tx.exec(enter) })
		}))
		handle, err := client.StartNamed[int](t.Context(), c, "book", 1)
		if err != nil {
			t.Fatal(err)
		}
		<-began
		if err := handle.Terminate(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		close(ended)
		<-over
		h.ledger(t, 0)
	})
}

// A function for another kind of store fails the activity at once, without a retry.
func TestForeignFunction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		var bodies atomic.Int64
		c := node(t, h, bookkeeper(t, func(ctx context.Context, n int) (int, error) {
			bodies.Add(1)
			return n, memory.OnComplete(ctx, func(*memory.Tx) error { return nil })
		}))
		if _, err := book(t, c, 1); err == nil || !strings.Contains(err.Error(), provider.ErrForeignTx.Error()) {
			t.Errorf("the instance ended with %v", err)
		}
		if bodies.Load() != 1 {
			t.Errorf("%d attempts, want 1", bodies.Load())
		}
	})
}

// OnComplete fails without an attempt, and after its end.
func TestFunctionWithoutAttempt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		nothing := func(transaction) error { return nil }
		if err := h.onComplete(t.Context(), nothing); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("outside of an activity: %v", err)
		}
		leaked := make(chan context.Context, 1)
		c := node(t, h, bookkeeper(t, func(ctx context.Context, n int) (int, error) {
			leaked <- ctx
			return n, nil
		}))
		if _, err := book(t, c, 1); err != nil {
			t.Fatal(err)
		}
		if err := h.onComplete(<-leaked, nothing); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("after the attempt: %v", err)
		}
	})
}

// Many completions with effects happen at once, on two nodes.
func TestManyEffectsAtOnce(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		c := node(t, h, bookkeeper(t, func(ctx context.Context, n int) (int, error) {
			return n, h.onComplete(ctx, func(tx transaction) error { return tx.exec(enter) })
		}))
		var handles []client.Handle[int]
		for n := range 50 {
			handle, err := client.StartNamed[int](t.Context(), c, "book", n)
			if err != nil {
				t.Fatal(err)
			}
			handles = append(handles, handle)
		}
		for n, handle := range handles {
			if got, err := handle.Wait(t.Context()); err != nil || got != n {
				t.Errorf("instance %d returned %d, %v", n, got, err)
			}
		}
		h.ledger(t, 50)
	})
}
