package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

var errFull = errors.New("the cart is full")

// basket collects items by updates until it gets the event "done", and returns them.
func basket(ctx *octx, _ none) ([]string, error) {
	items := []string{}
	orchestration.HandleUpdate(ctx, "add", func(_ *octx, item string) (int, error) {
		items = append(items, item)
		return len(items), nil
	}, orchestration.Validate(func(item string) error {
		if len(items) >= 3 {
			return fmt.Errorf("adding %s: %w", item, errFull)
		}
		return nil
	}))
	orchestration.HandleUpdate(ctx, "slow", func(ctx *octx, item string) (int, error) {
		if err := ctx.Sleep(50 * time.Millisecond); err != nil {
			return 0, err
		}
		items = append(items, item)
		return len(items), nil
	})
	orchestration.HandleUpdate(ctx, "held", func(ctx *octx, item string) (int, error) {
		if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
			return 0, err
		}
		items = append(items, item)
		return len(items), nil
	})
	orchestration.HandleUpdate(ctx, "fail", func(_ *octx, item string) (none, error) {
		return none{}, fmt.Errorf("adding %s: %w", item, errFull)
	})
	orchestration.HandleUpdate(ctx, "panic", func(_ *octx, item string) (none, error) {
		items = append(items, "half "+item)
		panic("cannot add " + item)
	})
	orchestration.HandleQuery(ctx, "items", func(none) ([]string, error) { return items, nil })
	_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
	return items, err
}

// startBasket starts a basket on a node of its own.
func startBasket(e *enginetest.Engine, opts ...client.StartOption) (*client.Client, client.Handle[[]string]) {
	e.T.Helper()
	reg := baskets(e)
	e.Start(reg)
	return newBasket(e, reg, opts...)
}

// baskets makes a registry with the orchestration.
func baskets(e *enginetest.Engine) *runtime.Registry {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "basket", basket)
	if err := runtime.AddError(reg, "full", errFull); err != nil {
		e.T.Fatal(err)
	}
	return reg
}

// newBasket starts a basket.
func newBasket(e *enginetest.Engine, reg *runtime.Registry, opts ...client.StartOption) (*client.Client, client.Handle[[]string]) {
	e.T.Helper()
	c := e.Client(client.Options{Errors: reg.Errors()})
	h, err := client.Start(e.T.Context(), c, orchestration.Define("basket", basket), none{}, opts...)
	if err != nil {
		e.T.Fatal(err)
	}
	return c, h
}

// finishBasket ends a basket and compares what it has collected.
func finishBasket(e *enginetest.Engine, h client.Handle[[]string], want ...string) {
	e.T.Helper()
	if err := h.Raise(e.T.Context(), "done", none{}); err != nil {
		e.T.Fatal(err)
	}
	got, err := h.Wait(e.T.Context())
	if err != nil || !slices.Equal(got, want) {
		e.T.Errorf("collected %v, %v, want %v", got, err, want)
	}
	enginetest.Replays(e, h)
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		_, h := startBasket(e)
		ctx := e.T.Context()
		for i, item := range []string{"a", "b"} {
			if n, err := client.Update[int](ctx, h, "add", item); err != nil || n != i+1 {
				e.T.Errorf("adding %s: %d, %v", item, n, err)
			}
		}
		if n, err := client.Update[int](ctx, h, "slow", "c"); err != nil || n != 3 {
			e.T.Errorf("adding slowly: %d, %v", n, err)
		}
		before := e.Get(h.Key()).HistoryLength
		if _, err := client.Update[int](ctx, h, "add", "d"); !errors.Is(err, client.ErrRejected) || !errors.Is(err, errFull) {
			e.T.Errorf("adding to a full cart: %v", err)
		}
		_, err := client.Update[int](ctx, h, "sub", "d")
		unknown, ok := errors.AsType[*client.UnknownUpdateError](err)
		if !ok || !errors.Is(err, client.ErrUnknownUpdate) || !slices.Equal(unknown.Known, []string{"add", "fail", "held", "panic", "slow"}) {
			e.T.Errorf("an unknown update: %v", err)
		}
		if _, err := client.Update[int](ctx, h, "add", 7); !errors.Is(err, client.ErrRejected) || !errors.Is(err, orchestration.ErrPayload) {
			e.T.Errorf("an input of another type: %v", err)
		}
		if got := e.Get(h.Key()).HistoryLength; got != before {
			e.T.Errorf("rejections left %d events", got-before)
		}
		if _, err := client.Update[none](ctx, h, "fail", "e"); !errors.Is(err, client.ErrUpdateFailed) || !errors.Is(err, errFull) {
			e.T.Errorf("a failing handler: %v", err)
		}
		finishBasket(e, h, "a", "b", "c")
	})
}

// The handler of a panicking update leaves nothing behind, and neither does the caller's stack.
func TestHazard54_OnePayloadBlocksNobody(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		_, h := startBasket(e)
		ctx, cancel := context.WithTimeout(e.T.Context(), 20*time.Second)
		defer cancel()
		if _, err := client.Update[int](ctx, h, "add", "a"); err != nil {
			e.T.Fatal(err)
		}
		_, err := client.Update[none](ctx, h, "panic", "b")
		if !errors.Is(err, client.ErrPanicked) || err.Error() == "" {
			e.T.Errorf("a panicking handler: %v", err)
		}
		if i := e.Get(h.Key()); i.Blocked != nil {
			e.T.Fatalf("blocked: %+v", i.Blocked)
		}
		if _, err := client.Update[int](ctx, h, "add", "c"); err != nil {
			e.T.Error(err)
		}
		finishBasket(e, h, "a", "c")
	})
}
