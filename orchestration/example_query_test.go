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

// Progress adds numbers and can be asked for the sum, until it gets a zero.
func Progress(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	sum := 0
	orchestration.HandleQuery(ctx, "sum", func(orchestration.None) (int, error) { return sum, nil })
	for {
		n, err := orchestration.Events[int](ctx, "number").Receive(ctx)
		if err != nil || n == 0 {
			return sum, err
		}
		sum += n
	}
}

func ExampleHandleQuery() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Progress); err != nil {
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
	h, err := client.Start(ctx, c, Progress, orchestration.None{})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(client.Query[int](ctx, h, "sum", nil))
	fmt.Println(client.Query[[]string](ctx, h, "queries", nil))
	// Output:
	// 0 <nil>
	// [queries stack sum] <nil>
}
