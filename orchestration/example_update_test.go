package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

var errCartFull = errors.New("the cart is full")

// Cart collects items by updates until it gets the event "order".
func Cart(ctx *orchestration.Context, _ orchestration.None) ([]string, error) {
	var items []string
	orchestration.HandleUpdate(ctx, "add", func(ctx *orchestration.Context, item string) (int, error) {
		items = append(items, item)
		return len(items), nil
	}, orchestration.Validate(func(item string) error {
		if len(items) == 10 {
			return errCartFull
		}
		return nil
	}))
	_, err := orchestration.Events[orchestration.None](ctx, "order").Receive(ctx)
	return items, err
}

func ExampleHandleUpdate() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Cart); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Panic(err)
	}
	defer rt.Shutdown(ctx) //nolint:errcheck // the program ends

	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.Start(ctx, c, Cart, orchestration.None{})
	if err != nil {
		log.Panic(err)
	}
	n, err := client.Update[int](ctx, h, "add", "tea", client.WithUpdateID("request-1"))
	fmt.Println(n, err)
	n, err = client.UpdateOf[int](h, "request-1").Wait(ctx)
	fmt.Println(n, err)
	// Output:
	// 1 <nil>
	// 1 <nil>
}
