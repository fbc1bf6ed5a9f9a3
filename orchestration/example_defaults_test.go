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

// TakeSeat fails once.
func TakeSeat(ctx context.Context, seat string) (string, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return "", errors.New("busy")
	}
	return seat, nil
}

// Book calls an activity twice, with the same options.
func Book(ctx *orchestration.Context, row int) (string, error) {
	patient := ctx.WithActivityOptions(
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: time.Millisecond}),
		orchestration.WithStartToCloseTimeout(time.Minute),
	)
	first, err := orchestration.CallActivity(patient, TakeSeat, fmt.Sprint(row, "A"))
	if err != nil {
		return "", err
	}
	second, err := orchestration.CallActivity(patient, TakeSeat, fmt.Sprint(row, "B"))
	return first + " and " + second, err
}

func ExampleContext_WithActivityOptions() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Book), runtime.AddActivity(reg, TakeSeat)); err != nil {
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
	h, err := client.Start(ctx, c, Book, 12)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: 12A and 12B <nil>
}
