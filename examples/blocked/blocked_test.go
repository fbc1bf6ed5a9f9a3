package blocked_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/blocked"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// deploy starts a node that runs one release of the code.
func deploy(store provider.Provider, code *blocked.Code) *runtime.Runtime {
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, code.Bill); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(context.Background(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Panic(err)
	}
	return rt
}

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}
	rt := deploy(store, &blocked.Code{})
	h, err := client.Start(ctx, c, (*blocked.Code)(nil).Bill, 4200, client.WithID("bill-1"))
	if err != nil {
		log.Panic(err)
	}
	_, err = h.Wait(ctx, client.OrBlocked())
	problem, ok := errors.AsType[*client.BlockedError](err)
	fmt.Println(ok, problem.Reason)
	fmt.Println(blocked.List(ctx, c))
	d, err := h.Describe(ctx)
	fmt.Println(d.Status, err) // it has not failed and will not fail

	// Deploy the fixed code. Unblock retries at once instead of at the next retry.
	if err := rt.Shutdown(ctx); err != nil {
		log.Panic(err)
	}
	rt = deploy(store, &blocked.Code{Fixed: true})
	defer rt.Shutdown(ctx) //nolint:errcheck // the example is over
	if err := c.Unblock(ctx, "bill-1"); err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// true panic
	// map[bill-1:panic] <nil>
	// Running <nil>
	// 4200 <nil>
}
