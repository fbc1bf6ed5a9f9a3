package cart_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/cart"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) {
	if err := runtime.AddOrchestration(reg, cart.Shop); err != nil {
		log.Panic(err)
	}
}

func Example() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	h, err := client.Start(ctx, c, cart.Shop, orchestration.None{}, client.WithID("cart-7"))
	if err == nil {
		err = errors.Join(h.Raise(ctx, "item", cart.Item{Name: "lamp", Count: 2}), h.Raise(ctx, "item", cart.Item{}))
	}
	if err == nil {
		_, err = h.Wait(ctx)
	}
	if err != nil {
		log.Panic(err)
	}
	// The handlers answer while the orchestration runs, and after its end.
	counts, err := client.Query[map[string]int](ctx, h, "cart", nil)
	fmt.Println(counts, err)
	lamps, err := client.Query[int](ctx, h, "count", "lamp")
	fmt.Println(lamps, err)

	_, err = client.Query[int](ctx, h, "price", nil)
	if unknown, ok := errors.AsType[*client.UnknownQueryError](err); ok {
		fmt.Println(unknown.Known)
	}
	// Output:
	// map[lamp:2] <nil>
	// 2 <nil>
	// [cart count queries stack]
}
