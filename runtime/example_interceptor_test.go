package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func pack(context.Context, orchestration.None) (string, error) { return "packed", nil }

func ship(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	return orchestration.CallActivity(ctx, pack, orchestration.None{})
}

// steps shows as the status of an instance how many activities its code has called.
type steps struct {
	orchestration.InterceptorBase

	called int
}

func (s *steps) Activity(
	ctx *orchestration.Context, call orchestration.ActivityCall,
	next func(*orchestration.Context, orchestration.ActivityCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	s.called++
	ctx.SetStatus(fmt.Sprintf("step %d: %s", s.called, call.Name))
	return next(ctx, call)
}

func ExampleAddOrchestrationInterceptor() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(
		runtime.AddOrchestration(reg, ship), runtime.AddActivity(reg, pack),
		runtime.AddOrchestrationInterceptor(reg, func(*orchestration.Context) orchestration.Interceptor { return &steps{} }),
	); err != nil {
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
	h, err := client.Start(ctx, c, ship, orchestration.None{})
	if err != nil {
		log.Panic(err)
	}
	if _, err := h.Wait(ctx); err != nil {
		log.Panic(err)
	}
	fmt.Println(client.StatusOf[string](ctx, h))
	// Output: step 1: pack <nil>
}
