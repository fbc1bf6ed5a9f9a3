package memory_test

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

// Remind returns what to remember.
func Remind(_ *orchestration.Context, text string) (string, error) { return text, nil }

// A start with a delay of a day needs no day in a test: the store's clock moves when the test says so.
func ExampleNewClock() {
	ctx := context.Background()
	clock := memory.NewClock(time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(memory.Options{Clock: clock})
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Remind); err != nil {
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
	h, err := client.Start(ctx, c, Remind, "pay the bill", client.WithDelay(24*time.Hour))
	if err != nil {
		log.Panic(err)
	}
	clock.Advance(24 * time.Hour)
	fmt.Println(h.Wait(ctx))
	// Output: pay the bill <nil>
}
