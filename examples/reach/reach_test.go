package reach_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/examples/reach"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) {
	err := errors.Join(
		runtime.AddOrchestration(reg, reach.Stock), runtime.AddOrchestration(reg, reach.Survey),
		runtime.AddOrchestration(reg, reach.Order), runtime.AddOrchestration(reg, reach.Rounds),
	)
	if err != nil {
		log.Panic(err)
	}
}

func Example() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	stock, err := client.Start(ctx, c, reach.Stock, 1, client.WithID("stock/lamp"))
	if err != nil {
		log.Panic(err)
	}
	order := func(id string) {
		h, err := client.Start(ctx, c, reach.Order, "lamp", client.WithID(id))
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(h.Wait(ctx))
	}
	order("order-1")
	fmt.Println(stock.Wait(ctx))
	order("order-2")

	// The order has ended, and its survey goes on.
	survey, err := client.Lookup[string](ctx, c, "survey/order-1")
	if err != nil {
		log.Panic(err)
	}
	if err := survey.Raise(ctx, "answer", "fine"); err != nil {
		log.Panic(err)
	}
	fmt.Println(survey.Wait(ctx))
	// Output:
	// ordered; survey/order-1 follows <nil>
	// 0 <nil>
	// no lamp left <nil>
	// fine <nil>
}
