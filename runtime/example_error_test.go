package runtime_test

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

var ErrSoldOut = errors.New("sold out")

func Pick(_ context.Context, item string) (string, error) {
	return "", fmt.Errorf("picking %s: %w", item, ErrSoldOut)
}

func Pack(ctx *orchestration.Context, item string) (string, error) {
	return orchestration.CallActivity(ctx, Pick, item)
}

func ExampleAddError() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	err := errors.Join(
		runtime.AddOrchestration(reg, Pack),
		runtime.AddActivity(reg, Pick),
		runtime.AddError(reg, "sold-out", ErrSoldOut),
	)
	if err != nil {
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
	h, err := client.Start(ctx, c, Pack, "tea")
	if err != nil {
		log.Panic(err)
	}
	_, err = h.Wait(ctx)
	fmt.Println(errors.Is(err, ErrSoldOut)) // also in another process, whose registry has the error
	// Output: true
}
