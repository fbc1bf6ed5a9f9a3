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
	return orchestration.Map(ctx, pictures, 3, func(ctx *orchestration.Context, picture string) (string, error) {
		return orchestration.CallActivity(ctx, Resize, picture)
	})
}

// Framed resizes a picture and asks for the price of a frame at the same time. If one fails, the other is cancelled.
func Framed(ctx *orchestration.Context, pictures []string) (string, error) {
	var small, price string
	g := orchestration.NewGroup(ctx)
	g.Go(func(ctx *orchestration.Context) (err error) {
		small, err = orchestration.CallActivity(ctx, Resize, pictures[0])
		return err
	})
	g.Go(func(ctx *orchestration.Context) (err error) {
		price, err = orchestration.CallActivity(ctx, Quote, "frames")
		return err
	})
	if err := g.Wait(); err != nil {
		return "", err
	}
	return small + ", " + price, nil
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
