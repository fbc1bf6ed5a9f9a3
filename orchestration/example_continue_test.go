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

// Account runs for years. Each event begins a new execution, so that its history stays short.
func Account(ctx *orchestration.Context, balance int) (int, error) {
	amount, err := orchestration.Events[int](ctx, "deposit").Receive(ctx)
	if err != nil {
		return 0, err
	}
	if amount == 0 { // closes the account
		return balance, nil
	}
	return 0, orchestration.ContinueAsNew(ctx, balance+amount)
}

func ExampleContinueAsNew() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Account)); err != nil {
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
	h, err := client.Start(ctx, c, Account, 0)
	if err != nil {
		log.Panic(err)
	}
	for _, amount := range []int{30, 12, 0} {
		if err := h.Raise(ctx, "deposit", amount); err != nil {
			log.Panic(err)
		}
	}
	fmt.Println(h.Wait(ctx))
	// Output: 42 <nil>
}
