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

func charge(_ context.Context, order string) (string, error) { return order + " is paid", nil }

func checkout(ctx *orchestration.Context, order string) (string, error) { // survives crashes
	return orchestration.CallActivity(ctx, charge, order, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5}))
}

func main() {
	ctx := context.Background()
	store := must(sqlite.Open("orders.db"))
	defer store.Close()
	reg := runtime.NewRegistry()
	runtime.AddOrchestration(reg, checkout)
	runtime.AddActivity(reg, charge)
	rt := must(runtime.Start(ctx, store, reg, runtime.Options{})) // reports what the registry has refused
	defer rt.Shutdown(ctx)
	c := must(rt.Client(client.Options{}))
	h := must(client.Start(ctx, c, checkout, "order 42", client.WithID("42"), client.WithIDPolicy(client.UseExisting)))
	fmt.Println(h.Wait(ctx))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
