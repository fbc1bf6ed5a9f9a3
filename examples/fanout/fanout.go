// Package fanout shows how an orchestration does several things at once.
package fanout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Resize makes one picture smaller.
func Resize(_ context.Context, picture string) (string, error) {
	if picture == "" {
		return "", errors.New("no picture")
	}
	return "small " + picture, nil
}

// Album resizes all pictures at once and returns them in the order of the input.
func Album(ctx *orchestration.Context, pictures []string) ([]string, error) {
	futures := make([]orchestration.Future[string], len(pictures))
	for i, picture := range pictures {
		futures[i] = orchestration.StartActivity(ctx, Resize, picture)
	}
	return orchestration.All(ctx, futures...)
}

// Quote asks a shop for a price; slow shops take a day.
func Quote(ctx context.Context, shop string) (string, error) {
	if shop == "slow" {
		<-ctx.Done() // Race cancels the loser's context
		return "", context.Cause(ctx)
	}
	return shop + ": 42.00", nil
}

// Cheapest returns the first quote and cancels the other calls.
func Cheapest(ctx *orchestration.Context, shops []string) (string, error) {
	futures := make([]orchestration.Future[string], len(shops))
	for i, shop := range shops {
		futures[i] = orchestration.StartActivity(ctx, Quote, shop)
	}
	quote, _, err := orchestration.Race(ctx, futures...)
	return quote, err
}

// Limited has at most three calls in flight.
func Limited(ctx *orchestration.Context, pictures []string) ([]string, error) {
	small := make([]string, len(pictures))
	next := 0
	worker := func(ctx *orchestration.Context) error {
		for next < len(pictures) {
			i := next
			next++
			var err error
			if small[i], err = orchestration.CallActivity(ctx, Resize, pictures[i]); err != nil {
				return fmt.Errorf("picture %d: %w", i, err)
			}
		}
		return nil
	}
	workers := make([]orchestration.Future[orchestration.None], 3)
	for i := range workers {
		workers[i] = ctx.Go(worker)
	}
	_, err := orchestration.All(ctx, workers...)
	return small, err
}

// Watched runs a coroutine in the background during the main work.
func Watched(ctx *orchestration.Context, pictures []string) (string, error) {
	reminders := 0
	reminding := ctx.Go(func(ctx *orchestration.Context) error {
		for {
			if err := ctx.Sleep(10 * time.Millisecond); err != nil {
				return err
			}
			reminders++
		}
	})
	small, err := Album(ctx, pictures)
	reminding.Cancel()
	return fmt.Sprint(len(small), " pictures"), err
}
