package headers_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/headers"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory
	reg := runtime.NewRegistry()
	if err := errors.Join(
		runtime.AddOrchestration(reg, headers.Order), runtime.AddOrchestration(reg, headers.Ship), runtime.AddActivity(reg, headers.Work),
	); err != nil {
		log.Panic(err)
	}

	// The node moves the header into the contexts of activities. Its clients move it from the contexts of calls.
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Propagators: headers.Propagators()})
	if err != nil {
		log.Panic(err)
	}
	defer rt.Shutdown(ctx) //nolint:errcheck // the program ends
	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}

	request := headers.WithRequest(ctx, "r-17")
	h, err := client.Start(request, c, headers.Order, nil, client.WithHeader("tenant", "acme"))
	if err != nil {
		log.Panic(err)
	}
	if err := h.Raise(ctx, "packed", "box 4"); err != nil {
		log.Panic(err)
	}
	done, err := h.Wait(ctx)
	fmt.Println(strings.Join(done, ", "), err)
	// Output: reserve for r-17, ship for r-17, bill for r-17 <nil>
}
