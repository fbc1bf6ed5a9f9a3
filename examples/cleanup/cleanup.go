// Package cleanup shows how an orchestration undoes its work when it fails or is cancelled.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Hotel books rooms and flights. Log receives what happens.
type Hotel struct{ Log func(text string) }

// Book books one thing of a trip.
func (h *Hotel) Book(_ context.Context, what string) (string, error) {
	if what == "moon" {
		return "", orchestration.NonRetryable(errors.New("no rocket"))
	}
	h.Log("book " + what)
	return "booking of " + what, nil
}

// Cancel undoes a booking.
func (h *Hotel) Cancel(_ context.Context, booking string) (orchestration.None, error) {
	h.Log("cancel " + booking)
	return orchestration.None{}, nil
}

// Start starts a trip that must be booked within a day.
func Start(ctx context.Context, c *client.Client, list []string) (client.Handle[[]string], error) {
	h, err := client.Start(ctx, c, Trip, list, client.WithTimeLimit(24*time.Hour))
	return h, err
}

// Trip books the whole list or nothing.
func Trip(ctx *orchestration.Context, list []string) ([]string, error) {
	var hotel *Hotel // never called here: it only names the activities
	var saga orchestration.Saga
	var bookings []string
	for _, what := range list {
		// A booking that is under way when the trip is cancelled ends first: it must be undone, too.
		booking, err := orchestration.CallActivity(ctx, hotel.Book, what,
			orchestration.WithCancellation(orchestration.WaitForEnd))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("booking %s: %w", what, err), saga.Compensate(ctx))
		}
		bookings = append(bookings, booking)
		saga.Undo(func(ctx *orchestration.Context) error {
			_, err := orchestration.CallActivity(ctx, hotel.Cancel, booking,
				orchestration.WithRetry(orchestration.RetryPolicy{}))
			return err
		})
	}
	if err := ctx.Sleep(time.Hour); err != nil { // time to cancel the trip
		return nil, errors.Join(err, saga.Compensate(ctx))
	}
	return bookings, nil
}

// Fastest takes whichever ends first, a booking or a timer, and cancels the other.
func Fastest(ctx *orchestration.Context, list []string) (string, error) {
	var hotel *Hotel
	scope, cancel := ctx.WithCancel()
	defer cancel()
	first := orchestration.StartActivity(scope, hotel.Book, list[0])
	patience := orchestration.StartTimer(scope, time.Minute)
	which, err := orchestration.Select(ctx, first, patience)
	if err != nil {
		return "", err
	}
	if which == 1 {
		return "", errors.New("no answer within a minute")
	}
	return first.Get(ctx)
}
