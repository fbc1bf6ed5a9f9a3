package orchestration_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// CheckoutV1 is the code of before, for the instances that began with it.
var CheckoutV1 = orchestration.Define("checkout", func(ctx *orchestration.Context, item string) (string, error) {
	return orchestration.CallActivity(ctx, Debit, item)
}, orchestration.Version("1"))

// Checkout is the code of today.
var Checkout = orchestration.Define("checkout", func(ctx *orchestration.Context, item string) (string, error) {
	if _, err := orchestration.CallActivity(ctx, Hold, item); err != nil {
		return "", err
	}
	return orchestration.CallActivity(ctx, Capture, item)
}, orchestration.Version("2"))

// Meter runs for years. It continues as new in a newer version as soon as there is one.
var Meter = orchestration.Define("meter", func(ctx *orchestration.Context, total int) (int, error) {
	readings := orchestration.Events[int](ctx, "reading")
	for n := 0; n < 1000 && !ctx.Info().NewerVersion; n++ {
		reading, err := readings.Receive(ctx)
		if err != nil {
			return total, err
		}
		total += reading
	}
	return total, orchestration.ContinueAsNew(ctx, total)
}, orchestration.Version("1"))

func ExampleVersion() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	for _, add := range []error{
		runtime.AddOrchestration(reg, CheckoutV1), runtime.AddOrchestration(reg, Checkout), runtime.AddOrchestration(reg, Meter),
		runtime.AddActivity(reg, Debit), runtime.AddActivity(reg, Hold), runtime.AddActivity(reg, Capture),
	} {
		if add != nil {
			log.Panic(add)
		}
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
	show := func(h client.Handle[string], err error) {
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(h.Wait(ctx))
	}
	show(client.Start(ctx, c, CheckoutV1, "tea"))                                       // the version of the reference
	show(client.Start(ctx, c, Checkout, "tea", client.WithVersion("1")))                // this one
	show(client.StartNamed[string](ctx, c, "checkout", "tea"))                          // the newest that a node has
	show(client.StartNamed[string](ctx, c, "checkout", "tea", client.WithVersion("1"))) // this one
	// Output:
	// debited tea <nil>
	// debited tea <nil>
	// captured tea <nil>
	// debited tea <nil>
}
