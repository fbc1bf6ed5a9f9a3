package main

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func Charge(_ context.Context, cents int) (string, error) { return fmt.Sprintf("receipt for %d cents", cents), nil }

// Checkout survives crashes; Charge, which touches the world, runs again until it succeeds.
func Checkout(ctx *orchestration.Context, cents int) (string, error) {
	return orchestration.CallActivity(ctx, Charge, cents, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5}))
}

func main() {
	ctx := context.Background()
	store, err := sqlite.Open("orders.db")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	reg := runtime.NewRegistry()
	runtime.AddOrchestration(reg, Checkout) // Start reports what is refused here
	runtime.AddActivity(reg, Charge)
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Shutdown(ctx)
	h, err := client.Start(ctx, client.New(store, client.Options{}), Checkout, 4200)
	if err == nil {
		fmt.Println(h.Wait(ctx))
	}
}
