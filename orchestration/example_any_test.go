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

// Record records all events until one is named "end".
func Record(ctx *orchestration.Context, _ orchestration.None) ([]string, error) {
	var seen []string
	end := orchestration.Events[orchestration.None](ctx, "end") // first: else the handler takes what came before
	orchestration.HandleAnyEvent(ctx, func(_ *orchestration.Context, e orchestration.Incoming) error {
		seen = append(seen, fmt.Sprintf("%s: %s", e.Name, e.Input))
		return nil
	})
	_, err := end.Receive(ctx)
	return seen, err
}

func ExampleHandleAnyEvent() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Record); err != nil {
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
	h, err := client.Start(ctx, c, Record, orchestration.None{})
	if err != nil {
		log.Panic(err)
	}
	if err := errors.Join(h.Raise(ctx, "door", "open"), h.Raise(ctx, "heat", 21), h.Raise(ctx, "end", nil)); err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: [door: "open" heat: 21] <nil>
}
