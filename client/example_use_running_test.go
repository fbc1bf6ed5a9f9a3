package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider/memory"
)

func ExampleWithIDPolicy_useRunning() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	add := func(by string) client.Handle[string] {
		h, err := client.Start(ctx, c, Sell, Order{Item: "tea"}, client.WithID("order-42"),
			client.WithIDPolicy(client.UseRunning), client.WithEvent("approval", Approval{By: by}))
		if err != nil {
			log.Panic(err)
		}
		return h
	}
	first, second := add("ann"), add("bob") // both events go to one instance
	if err := second.Terminate(ctx, "sold out"); err != nil {
		log.Panic(err)
	}
	third := add("cid")
	fmt.Println(first.Key() == second.Key(), third.Key() == second.Key())
	// Output: true false
}
