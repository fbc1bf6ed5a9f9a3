package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Fetch fails twice.
func Fetch(ctx context.Context, page string) (string, error) {
	attempt := activity.GetInfo(ctx).Attempt
	if attempt < 3 {
		return "", errors.New("connection refused")
	}
	return fmt.Sprintf("%s, by attempt %d", page, attempt), nil
}

func FetchPage(ctx *orchestration.Context, page string) (string, error) {
	return orchestration.CallActivity(ctx, Fetch, page,
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5, InitialInterval: time.Millisecond}),
		orchestration.WithStartToCloseTimeout(time.Minute)) // of each attempt
}

func ExampleWithRetry() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, FetchPage), runtime.AddActivity(reg, Fetch)); err != nil {
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
	h, err := client.Start(ctx, c, FetchPage, "home")
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: home, by attempt 3 <nil>
}
