package provider_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// counting counts the starts of the store that it decorates. Optional interfaces of that store stay visible through Unwrap.
type counting struct {
	provider.Provider

	starts int
}

func (c *counting) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	c.starts++
	return c.Provider.Create(ctx, req)
}

// Unwrap lets [provider.As] look through the decorator.
func (c *counting) Unwrap() provider.Provider { return c.Provider }

// Ship sends an order.
func Ship(_ *orchestration.Context, order string) (string, error) {
	return order + " is on its way", nil
}

func ExampleAs() {
	ctx := context.Background()
	store := &counting{Provider: memory.New(memory.Options{})}
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	if _, err := client.Start(ctx, c, Ship, "order-42"); err != nil {
		log.Panic(err)
	}
	_, notifies := provider.As[provider.Notifier](store)
	fmt.Println("starts:", store.starts, "notifier:", notifies)
	// Output: starts: 1 notifier: true
}

func ExampleNewKey() {
	key := provider.NewKey("tenant42!order-7")
	child := key.String() + "/1/5" // as the engine names the first execution's child of event 5
	fmt.Println("of the ID:", provider.SlotOf(key) == provider.SlotOfID("tenant42!order-7"))
	fmt.Println("of the tag:", provider.SlotOf(key) == provider.SlotOfID("tenant42!order-8"))
	fmt.Println("of the tree:", provider.SlotOf(key) == provider.SlotOfID(child))
	// Output:
	// of the ID: true
	// of the tag: true
	// of the tree: true
}

func ExampleSlotOfID() {
	fmt.Println(provider.SlotOfID("order-7"), provider.SlotOfID("order-8"))
	fmt.Println(provider.SlotOfID("tenant42!order-7"), provider.SlotOfID("tenant42!order-8"))
	// Output:
	// 3576 809
	// 2476 2476
}
