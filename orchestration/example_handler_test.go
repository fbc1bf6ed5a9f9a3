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

// Tally adds the numbers of events until it is stopped.
func Tally(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	sum := 0
	orchestration.HandleEvent(ctx, "number", func(_ *orchestration.Context, n int) error {
		sum += n
		return nil
	})
	_, err := orchestration.Events[orchestration.None](ctx, "stop").Receive(ctx)
	return sum, err
}

func ExampleHandleEvent() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Tally); err != nil {
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
	h, err := client.Start(ctx, c, Tally, orchestration.None{},
		client.WithEvent("number", 1), client.WithEvent("number", 2), client.WithEvent("stop", nil))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: 3 <nil>
}
