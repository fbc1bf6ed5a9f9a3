package activity_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Pay passes the key to a payment service. The service drops repeats, so a crash never pays twice.
func Pay(ctx context.Context, cents int) (string, error) {
	info, key := activity.GetInfo(ctx), activity.IdempotencyKey(ctx)
	activity.Logger(ctx).Debug("paying", "cents", cents)
	return fmt.Sprintf("%s paid %d cents for %s, key given: %t", info.Activity, cents, info.InstanceID, key != ""), nil
}

func Checkout(ctx *orchestration.Context, cents int) (string, error) {
	return orchestration.CallActivity(ctx, Pay, cents)
}

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Checkout), runtime.AddActivity(reg, Pay)); err != nil {
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
	h, err := client.Start(ctx, c, Checkout, 250, client.WithID("order-42"))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: Pay paid 250 cents for order-42, key given: true <nil>
}
