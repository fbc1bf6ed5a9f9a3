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

// MeasureSome measures many texts, two at a time.
func MeasureSome(ctx *orchestration.Context, texts []string) ([]int, error) {
	return orchestration.Map(ctx, texts, 2, func(ctx *orchestration.Context, text string) (int, error) {
		return orchestration.CallActivity(ctx, Measure, text)
	})
}

func ExampleMap() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, MeasureSome), runtime.AddActivity(reg, Measure)); err != nil {
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
	h, err := client.Start(ctx, c, MeasureSome, []string{"a", "tea", "please", "now"})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: [1 3 6 3] <nil>
}
