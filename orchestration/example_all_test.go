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

func Measure(_ context.Context, text string) (int, error) { return len(text), nil }

// MeasureAll runs one activity for each text at the same time, and waits for all of them.
func MeasureAll(ctx *orchestration.Context, texts []string) ([]int, error) {
	futures := make([]orchestration.Future[int], len(texts))
	for i, text := range texts {
		futures[i] = orchestration.StartActivity(ctx, Measure, text)
	}
	return orchestration.All(ctx, futures...)
}

func ExampleAll() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, MeasureAll), runtime.AddActivity(reg, Measure)); err != nil {
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
	h, err := client.Start(ctx, c, MeasureAll, []string{"a", "tea", "please"})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: [1 3 6] <nil>
}
