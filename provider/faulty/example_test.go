package faulty_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

// Ship sends an order.
func Ship(_ *orchestration.Context, order string) (string, error) {
	return order + " is on its way", nil
}

// The first start is stored, but its reply is lost. The client repeats it and stores nothing twice.
func Example() {
	ctx := context.Background()
	plan := faulty.NewPlan(1)
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Create}, First: 1, Kind: faulty.After})
	store := faulty.Wrap(memory.New(memory.Options{}), plan)
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	if _, err := client.Start(ctx, c, Ship, "order-42", client.WithID("order-42")); err != nil {
		log.Panic(err)
	}
	n, err := c.Count(ctx, client.Filter{})
	fmt.Println(n, err, "lost replies:", plan.Injected(faulty.Create))
	// Output: 1 <nil> lost replies: 1
}
