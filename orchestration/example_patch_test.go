package orchestration_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Debit and the others are the activities of the orders below.
func Debit(_ context.Context, item string) (string, error)   { return "debited " + item, nil }
func Hold(_ context.Context, item string) (string, error)    { return "held " + item, nil }
func Capture(_ context.Context, item string) (string, error) { return "captured " + item, nil }

// bothReleases has the code of before for the orders that began with it, and the new code for all others.
func bothReleases(ctx *orchestration.Context, item string) (string, error) {
	if !ctx.Patched("hold-first") {
		return orchestration.CallActivity(ctx, Debit, item)
	}
	if _, err := orchestration.CallActivity(ctx, Hold, item); err != nil {
		return "", err
	}
	return orchestration.CallActivity(ctx, Capture, item)
}

// newRelease no longer has the code of before.
func newRelease(ctx *orchestration.Context, item string) (string, error) {
	ctx.DeprecatePatch("hold-first")
	if _, err := orchestration.CallActivity(ctx, Hold, item); err != nil {
		return "", err
	}
	return orchestration.CallActivity(ctx, Capture, item)
}

// order runs one order with a release of the code.
func order(store provider.Provider, release func(*orchestration.Context, string) (string, error)) {
	ctx := context.Background()
	main := orchestration.Define("Order", release)
	reg := runtime.NewRegistry()
	for _, add := range []error{
		runtime.AddOrchestration(reg, main), runtime.AddActivity(reg, Debit), runtime.AddActivity(reg, Hold), runtime.AddActivity(reg, Capture),
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
	h, err := client.Start(ctx, c, main, "tea")
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
}

func ExampleContext_Patched() {
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	order(store, bothReleases)
	order(store, newRelease)
	// Output:
	// captured tea <nil>
	// captured tea <nil>
}
