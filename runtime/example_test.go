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

func Greet(_ context.Context, name string) (string, error) { return "Hello, " + name + "!", nil }

func Welcome(ctx *orchestration.Context, name string) (string, error) {
	return orchestration.CallActivity(ctx, Greet, name)
}

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Welcome), runtime.AddActivity(reg, Greet)); err != nil {
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
	h, err := client.Start(ctx, c, Welcome, "Ann")
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: Hello, Ann! <nil>
}
