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
	store, err := sqlite.Open("orders.db")
	check(err)
	defer store.Close()
	reg := runtime.NewRegistry()
	check(runtime.AddOrchestration(reg, checkout))
	check(runtime.AddActivity(reg, charge))
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	check(err)
	defer rt.Shutdown(ctx)
	h, err := client.Start(ctx, client.New(store, client.Options{}), checkout, "order 42", client.WithID("42"), client.WithIDPolicy(client.UseExisting))
	check(err)
	fmt.Println(h.Wait(ctx))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
