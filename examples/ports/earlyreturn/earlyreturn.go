// Package earlyreturn answers a caller after the first step of a payment, while the rest goes on. client.StartAndUpdate starts the
// instance and sends it an update, in one commit. The handler of that update waits for the first step only.
package earlyreturn

import (
	"context"
	"errors"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Order is what somebody pays.
type Order struct {
	ID    string
	Cents int
}

// Pay holds the money, tells the caller, and then captures it. It returns the number of the hold.
func Pay(ctx *orchestration.Context, o Order) (string, error) {
	hold := orchestration.StartActivity(ctx, Hold, o, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
	orchestration.HandleUpdate(ctx, "held", func(ctx *orchestration.Context, _ orchestration.None) (string, error) {
		return hold.Get(ctx)
	})
	number, err := hold.Get(ctx)
	if err != nil {
		_, undo := orchestration.CallActivity(ctx.Detached(), Release, o, orchestration.WithRetry(orchestration.RetryPolicy{}))
		return "", errors.Join(err, undo)
	}
	return orchestration.CallActivity(ctx, Capture, number, orchestration.WithRetry(orchestration.RetryPolicy{}))
}

// Begin starts a payment and returns as soon as the money is held. A repeat for the same order begins nothing and returns the same.
func Begin(ctx context.Context, c *client.Client, o Order) (hold string, err error) {
	_, held, err := client.StartAndUpdate[string](ctx, c, Pay, o, "held", orchestration.None{},
		client.WithID("pay/"+o.ID), client.WithRequestID(o.ID))
	if err != nil {
		return "", err
	}
	return held.Wait(ctx)
}

// Hold makes sure that the money is there, within a second.
func Hold(ctx context.Context, o Order) (string, error) {
	activity.Logger(ctx).InfoContext(ctx, "hold", "cents", o.Cents)
	return "hold-" + o.ID, nil
}

// Release gives back what Hold has held. It does nothing if there is no hold.
func Release(ctx context.Context, o Order) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "release", "order", o.ID)
	return activity.None{}, nil
}

// Capture takes the money. The bank needs hours for it.
func Capture(ctx context.Context, hold string) (string, error) {
	activity.Logger(ctx).InfoContext(ctx, "capture", "hold", hold)
	return hold, nil
}
