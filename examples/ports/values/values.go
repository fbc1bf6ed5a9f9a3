// Package values shows a caller what it needs before an instance has ended: the address of a payment page. orchestration.SetValue stores it
// under a key, and client.Value reads it, with no node. Handle.Watch waits for it. In the other direction the payment comes as an event.
package values

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Checkout returns "paid" or "expired".
func Checkout(ctx *orchestration.Context, order string) (string, error) {
	page, err := orchestration.CallActivity(ctx, Open, order, orchestration.WithRetry(orchestration.RetryPolicy{}))
	if err != nil {
		return "", err
	}
	orchestration.SetValue(ctx, "page", page)
	_, err = orchestration.Events[string](ctx, "paid").Receive(ctx, orchestration.Within(time.Hour))
	orchestration.SetValue(ctx, "page", nil) // nobody can pay any more
	if errors.Is(err, orchestration.ErrTimeout) {
		return "expired", nil
	}
	return "paid", err
}

// Begin starts a checkout and returns the page to pay at. A repeat returns the same.
func Begin(ctx context.Context, c *client.Client, order string) (page string, err error) {
	h, err := client.Start(ctx, c, Checkout, order, client.WithID("checkout/"+order), client.WithIDPolicy(client.UseExisting))
	if err != nil {
		return "", err
	}
	for _, err := range h.Watch(ctx) {
		if err != nil {
			return "", err
		}
		page, err := client.Value[string](ctx, h, "page")
		if !errors.Is(err, client.ErrNotSet) {
			return page, err
		}
	}
	return "", errors.New("the checkout has ended")
}

// Open opens a page at the bank.
func Open(ctx context.Context, order string) (string, error) {
	activity.Logger(ctx).InfoContext(ctx, "open", "order", order)
	return "https://bank.example/" + order, nil
}
