package cart_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/cart"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// ask asks a cart for what is in it, and for the number of lamps.
func ask(ctx context.Context, h client.Handle[int]) (counts map[string]int, lamps int, err error) {
	// The handlers answer while the orchestration runs, and after its end.
	counts, err = client.Query[map[string]int](ctx, h, "cart", nil)
	if err == nil {
		lamps, err = client.Query[int](ctx, h, "count", "lamp")
	}
	return counts, lamps, err
}

func TestQueriesDuringAndAfterTheRun(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h, ctx := orchestrationtest.Start(e, cart.Shop, orchestration.None{}), e.Context()
		for _, count := range []int{2, 0} { // 0 checks out
			if err := h.Raise(ctx, "item", cart.Item{Name: "lamp", Count: count}); err != nil {
				t.Fatal(err)
			}
			e.Sleep(0)
			if counts, lamps, err := ask(ctx, h.Handle); !maps.Equal(counts, map[string]int{"lamp": 2}) || lamps != 2 || err != nil {
				t.Errorf("%v, %d, %v", counts, lamps, err)
			}
		}
		if n, err := h.Wait(ctx); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		_, err := client.Query[int](ctx, h.Handle, "price", nil)
		unknown, ok := errors.AsType[*client.UnknownQueryError](err)
		if want := []string{"cart", "count", "queries", "stack"}; !ok || !slices.Equal(unknown.Known, want) {
			t.Errorf("%v, want an error that knows %q", err, want)
		}
	})
}
