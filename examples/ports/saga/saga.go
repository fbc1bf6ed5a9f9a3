// Package saga buys something in three steps, and undoes them when a later one fails. Each step is a pair of activities, called with
// orchestration.CallActivity. An orchestration.Saga undoes them in reverse order, in a context that no cancellation reaches.
package saga

import (
	"context"
	"errors"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Order is what a customer buys.
type Order struct {
	ID    string
	Item  string
	Cents int
}

// Buy does one step after the other. When one fails, it undoes what was done, the last step first.
func Buy(ctx *orchestration.Context, o Order) (orchestration.None, error) {
	steps := []struct {
		do, undo func(context.Context, Order) (orchestration.None, error)
	}{
		{Reserve, Release},
		{Charge, Refund},
		{Ship, Recall},
	}
	var saga orchestration.Saga
	for _, step := range steps {
		saga.Undo(func(ctx *orchestration.Context) error { // before the step: if that fails it may have had its effect, too
			_, err := orchestration.CallActivity(ctx, step.undo, o, orchestration.WithRetry(orchestration.RetryPolicy{}))
			return err
		})
		_, err := orchestration.CallActivity(ctx, step.do, o,
			orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}),
			orchestration.WithCancellation(orchestration.WaitForEnd)) // undoing must not begin while the step runs
		if err != nil {
			return orchestration.None{}, errors.Join(err, saga.Compensate(ctx))
		}
	}
	return orchestration.None{}, nil
}

// Reserve sets the item aside.
func Reserve(ctx context.Context, o Order) (activity.None, error) { return tell(ctx, "reserve", o) }

// Release puts the item back. Like all that undoes, it does nothing if there is nothing to undo.
func Release(ctx context.Context, o Order) (activity.None, error) { return tell(ctx, "release", o) }

// Charge takes the money.
func Charge(ctx context.Context, o Order) (activity.None, error) { return tell(ctx, "charge", o) }

// Refund gives the money back.
func Refund(ctx context.Context, o Order) (activity.None, error) { return tell(ctx, "refund", o) }

// Ship hands the item to the carrier.
func Ship(ctx context.Context, o Order) (activity.None, error) { return tell(ctx, "ship", o) }

// Recall asks the carrier for the item.
func Recall(ctx context.Context, o Order) (activity.None, error) { return tell(ctx, "recall", o) }

// tell stands for the request to a service. The ID of the order lets the service drop repeats.
func tell(ctx context.Context, what string, o Order) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, what, "order", o.ID)
	return activity.None{}, nil
}
