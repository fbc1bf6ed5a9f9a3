package activity_test

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

// Translate is told by its service when to try again.
func Translate(ctx context.Context, text string) (string, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return "", activity.RetryAfter(errors.New("too many requests"), 10*time.Millisecond)
	}
	return "le " + text, nil
}

func Menu(ctx *orchestration.Context, text string) (string, error) {
	return orchestration.CallActivity(ctx, Translate, text,
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: time.Hour}))
}

func ExampleRetryAfter() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Menu), runtime.AddActivity(reg, Translate)); err != nil {
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
	h, err := client.Start(ctx, c, Menu, "menu")
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: le menu <nil>
}
