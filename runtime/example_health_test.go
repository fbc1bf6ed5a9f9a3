package runtime_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func Refund(_ *orchestration.Context, order string) (string, error) {
	return order + " is paid back", nil
}

func ExampleRuntime_Health() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Refund); err != nil {
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
	for _, name := range []string{"Refund", "Recall"} { // no node knows Recall yet
		if _, err := client.StartNamed[string](ctx, c, name, "order-42"); err != nil {
			log.Panic(err)
		}
	}
	health, err := rt.Health(ctx)
	if err != nil {
		log.Panic(err)
	}
	for _, work := range health.Unserved {
		fmt.Println(work.Count, work.Kind, "waits for a node that can run", work.Name)
	}
	// Output: 1 orchestration waits for a node that can run Recall
}
