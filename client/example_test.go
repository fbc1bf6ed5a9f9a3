package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
)

type Order struct{ Item string }

type Approval struct{ By string }

// Sell waits for somebody's approval.
func Sell(ctx *orchestration.Context, o Order) (string, error) {
	a, err := orchestration.Events[Approval](ctx, "approval").Receive(ctx)
	if err != nil {
		return "", err
	}
	return o.Item + " sold by " + a.By, nil
}

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.Start(ctx, c, Sell, Order{Item: "tea"}, client.WithID("order-42"))
	if err != nil {
		log.Panic(err)
	}
	// With a runtime on the same store, h.Wait(ctx) now returns "tea sold by ann".
	if err := h.Raise(ctx, "approval", Approval{By: "ann"}); err != nil {
		log.Panic(err)
	}

	d, err := h.Describe(ctx)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(d.ID, d.Orchestration, d.Status, d.InboxMessages)
	// Output: order-42 Sell Running 2
}

func ExampleHandle_Wait() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.StartNamed[string](ctx, c, "Sell", Order{Item: "tea"}, client.WithID("order-42"))
	if err != nil {
		log.Panic(err)
	}
	if err := h.Terminate(ctx, "sold out"); err != nil {
		log.Panic(err)
	}

	_, err = h.Wait(ctx)
	fmt.Println(err)
	fmt.Println(errors.Is(err, client.ErrFailed), errors.Is(err, orchestration.ErrTerminated))
	// Output:
	// instance "order-42" ended as Terminated: terminated: sold out
	// true true
}

func ExampleWithIDPolicy() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	first, err := client.Start(ctx, c, Sell, Order{Item: "tea"}, client.WithID("order-42"))
	if err != nil {
		log.Panic(err)
	}
	_, err = client.Start(ctx, c, Sell, Order{Item: "tea"}, client.WithID("order-42"))
	fmt.Println(errors.Is(err, client.ErrExists))
	second, err := client.Start(ctx, c, Sell, Order{Item: "tea"}, client.WithID("order-42"), client.WithIDPolicy(client.UseExisting))
	fmt.Println(first == second, err)
	// Output:
	// true
	// true <nil>
}

func ExampleClient_All() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	for _, id := range []string{"order-1", "order-2", "invoice-1"} {
		if _, err := client.Start(ctx, c, Sell, Order{}, client.WithID(id)); err != nil {
			log.Panic(err)
		}
	}
	open := client.Filter{IDPrefix: "order-", Statuses: []client.Status{client.StatusRunning}}
	for d, err := range c.All(ctx, open) {
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(d.ID, d.Status)
	}
	// Unordered output:
	// order-1 Running
	// order-2 Running
}

func ExampleWithTimeLimit() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.Start(ctx, c, Sell, Order{Item: "tea"}, client.WithTimeLimit(24*time.Hour), client.WithLimitGrace(time.Hour))
	if err != nil {
		log.Panic(err)
	}
	d, err := h.Describe(ctx)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(d.Limit.Limit, d.Limit.Terminate.Sub(d.Limit.Due))
	// Output: 24h0m0s 1h0m0s
}
