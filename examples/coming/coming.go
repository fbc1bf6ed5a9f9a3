// Package coming has the code that the pages "Coming from Temporal's Go SDK" and "Coming from DBOS" show, so that it compiles. A test compares.
package coming

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Order is what a customer buys.
type Order struct {
	ID    string
	Cents int
}

// Receipt is what the customer gets.
type Receipt struct{ ID string }

// Checkout is an orchestration.
func Checkout(ctx *orchestration.Context, o Order) (Receipt, error) {
	return orchestration.CallActivity(ctx, Charge, o)
}

// Ship is another one.
func Ship(ctx *orchestration.Context, o Order) (Receipt, error) {
	return Receipt{ID: o.ID}, ctx.Sleep(time.Hour)
}

// Charge is an activity.
func Charge(_ context.Context, o Order) (Receipt, error) {
	return Receipt{ID: o.ID}, nil
}

// Shop has activities as methods.
type Shop struct{}

// Pack is one of them.
func (*Shop) Pack(ctx context.Context, o Order) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "pack", "order", o.ID)
	return activity.None{}, nil
}

// Positive validates an update.
func Positive(n int) error {
	if n <= 0 {
		return errors.New("the number is not above 0: " + strconv.Itoa(n))
	}
	return nil
}
