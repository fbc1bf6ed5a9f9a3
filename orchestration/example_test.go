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

func Reserve(_ context.Context, item string) (string, error) { return "reservation of " + item, nil }

func Release(_ context.Context, reservation string) (orchestration.None, error) {
	fmt.Println("released the", reservation)
	return orchestration.None{}, nil
}

func Pay(_ context.Context, item string) (string, error) {
	return "", errors.New("no money for " + item)
}

// Buy survives crashes between its steps. It undoes the first step if the second one fails.
func Buy(ctx *orchestration.Context, item string) (string, error) {
	reservation, err := orchestration.CallActivity(ctx, Reserve, item)
	if err != nil {
		return "", err
	}
	receipt, err := orchestration.CallActivity(ctx, Pay, item)
	if err != nil {
		_, undone := orchestration.CallActivity(ctx.Detached(), Release, reservation) // also if Buy was cancelled
		return "", errors.Join(err, undone)
	}
	return receipt, nil
}

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	err := errors.Join(
		runtime.AddOrchestration(reg, Buy),
		runtime.AddActivity(reg, Reserve),
		runtime.AddActivity(reg, Release),
		runtime.AddActivity(reg, Pay),
	)
	if err != nil {
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
	h, err := client.Start(ctx, c, Buy, "tea", client.WithID("order-42"))
	if err != nil {
		log.Panic(err)
	}
	_, err = h.Wait(ctx)
	fmt.Println(err)
	// Output:
	// released the reservation of tea
	// instance "order-42" ended as Failed: no money for tea
}
