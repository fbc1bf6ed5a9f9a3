package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

type Approval struct{ By string }

// Publish waits for an approval, but not longer than three days. The wait survives restarts.
func Publish(ctx *orchestration.Context, page string) (string, error) {
	approval, err := orchestration.Events[Approval](ctx, "approval").Receive(ctx, orchestration.Within(72*time.Hour))
	if errors.Is(err, orchestration.ErrTimeout) {
		return page + " was not approved", nil
	}
	if err != nil {
		return "", err
	}
	return page + " was approved by " + approval.By, nil
}

func ExampleEvents() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Publish)); err != nil {
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
	h, err := client.Start(ctx, c, Publish, "home")
	if err != nil {
		log.Panic(err)
	}
	if err := h.Raise(ctx, "approval", Approval{By: "ann"}); err != nil { // from any process
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: home was approved by ann <nil>
}
