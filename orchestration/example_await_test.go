package orchestration_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Ferry waits until eight passengers are on board, and leaves without the rest after an hour.
func Ferry(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	passengers := 0
	orchestration.HandleEvent(ctx, "board", func(_ *orchestration.Context, n int) error {
		passengers += n
		return nil
	})
	err := ctx.Await(func() bool { return passengers >= 8 }, orchestration.Within(time.Hour))
	return passengers, err
}

// Verdict waits for one event or for a timer, whichever comes first.
func Verdict(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	verdict := orchestration.NewPromise[string](ctx)
	orchestration.HandleEvent(ctx, "verdict", func(_ *orchestration.Context, text string) error { return verdict.Set(text) })
	patience := orchestration.StartTimer(ctx, time.Hour)
	which, err := orchestration.Select(ctx, verdict, patience)
	if err != nil || which == 1 {
		return "none", err
	}
	return verdict.Future().Get(ctx)
}

func ExampleContext_Await() {
	ctx := context.Background()
	c, end := exampleClient(ctx)
	defer end()
	h, err := client.Start(ctx, c, Ferry, orchestration.None{}, client.WithEvent("board", 5), client.WithEvent("board", 4))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: 9 <nil>
}

func ExampleNewPromise() {
	ctx := context.Background()
	c, end := exampleClient(ctx)
	defer end()
	h, err := client.Start(ctx, c, Verdict, orchestration.None{}, client.WithEvent("verdict", "good"))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: good <nil>
}

// exampleClient starts a node on a store in memory, and returns a client of it.
func exampleClient(ctx context.Context) (c *client.Client, end func()) {
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	reg := runtime.NewRegistry()
	for _, err := range []error{runtime.AddOrchestration(reg, Ferry), runtime.AddOrchestration(reg, Verdict)} {
		if err != nil {
			log.Panic(err)
		}
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Panic(err)
	}
	if c, err = rt.Client(client.Options{}); err != nil {
		log.Panic(err)
	}
	return c, func() {
		_ = rt.Shutdown(ctx) // the program ends
		_ = store.Close()
	}
}
