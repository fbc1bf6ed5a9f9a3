package children_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/children"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) {
	err := errors.Join(
		runtime.AddOrchestration(reg, children.Pack), runtime.AddOrchestration(reg, children.Deliver),
		runtime.AddOrchestration(reg, children.Count),
	)
	if err != nil {
		log.Panic(err)
	}
}

func Example() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	h, err := client.Start(ctx, c, children.Deliver, []string{"lamp", "bulb"}, client.WithID("order-1"))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	child, err := c.Describe(ctx, "order-1/lamp")
	fmt.Println(child.Status, child.Parent.ID, err)

	h, err = client.Start(ctx, c, children.Deliver, []string{"cat", "cat"}, client.WithID("order-2"))
	if err != nil {
		log.Panic(err)
	}
	_, err = h.Wait(ctx)
	fmt.Println(err)
	// Output:
	// [parcel with lamp parcel with bulb] <nil>
	// Completed order-1 <nil>
	// instance "order-2" ended as Failed: an item is on the list twice
}

func Example_continueAsNew() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	h, err := client.Start(ctx, c, children.Count, children.Meter{})
	if err != nil {
		log.Panic(err)
	}
	for n := range 8 {
		if err := h.Raise(ctx, "amount", n+1); err != nil {
			log.Panic(err)
		}
	}
	fmt.Println(h.Wait(ctx)) // over all executions
	d, err := h.Describe(ctx)
	fmt.Println("execution", d.Execution, err)
	// Output:
	// 36 <nil>
	// execution 3 <nil>
}
