package runtime_test

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

// Billing has activities.
type Billing struct{ currency string }

// Charge is an activity.
func (b *Billing) Charge(_ context.Context, cents int) (string, error) {
	return fmt.Sprintf("%d %s", cents, b.currency), nil
}

// Close is no activity.
func (b *Billing) Close() error { return nil }

// Sell calls a method of the receiver that the node has registered.
func Sell(ctx *orchestration.Context, cents int) (string, error) {
	var billing *Billing // only names the method
	return orchestration.CallActivity(ctx, billing.Charge, cents)
}

func ExampleAddActivities() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg, billing := runtime.NewRegistry(), &Billing{currency: "EUR"}
	if err := errors.Join(
		runtime.AddOrchestration(reg, Sell),
		runtime.AddActivities(reg, billing, runtime.Except("Close")),
	); err != nil {
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
	h, err := client.Start(ctx, c, Sell, 995)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: 995 EUR <nil>
}
