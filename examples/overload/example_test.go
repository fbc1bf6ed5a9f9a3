package overload_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/overload"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func Example() {
	ctx, end := context.WithTimeout(context.Background(), 10*time.Second)
	defer end()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory
	opts := overload.Options()
	opts.MaxBacklog = 2 // a small limit for the example
	c, err := client.New(store, opts)
	if err != nil {
		log.Panic(err)
	}

	// No node runs yet, so all starts wait.
	handler := overload.Order(c)
	for _, order := range []string{"1", "2", "3"} {
		send(handler, order)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err = overload.Import(short, c, []string{"4", "5"})
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	fmt.Println(overload.Urgent(ctx, c, "now"))

	stop := startNode(ctx, store)
	defer stop()
	fmt.Println(overload.Import(ctx, c, []string{"3", "4", "5"}))
	n, err := c.Count(ctx, client.Filter{})
	fmt.Println(n, err)
	// Output:
	// order 1: 202
	// order 2: 202
	// order 3: 503, come again in 1 s
	// true
	// <nil>
	// <nil>
	// 6 <nil>
}

func send(handler http.Handler, order string) {
	req := httptest.NewRequest(http.MethodPost, "/order", strings.NewReader(url.Values{"order": {order}}.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res := httptest.NewRecorder()
	handler.ServeHTTP(res, req)
	fmt.Printf("order %s: %d", order, res.Code)
	if after := res.Header().Get("Retry-After"); after != "" {
		fmt.Printf(", come again in %s s", after)
	}
	fmt.Println()
}

func startNode(ctx context.Context, store provider.Provider) (stop func()) {
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, overload.Checkout), runtime.AddActivity(reg, overload.Charge)); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Panic(err)
	}
	return func() {
		if err := rt.Shutdown(ctx); err != nil {
			log.Panic(err)
		}
	}
}
