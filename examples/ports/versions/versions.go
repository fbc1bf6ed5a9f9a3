// Package versions changes the code of subscriptions that run for a year. Two versions stand side by side: orchestration.Define names
// them, and orchestration.Version tells them apart. An execution keeps its version, and ContinueAsNew takes the newest one.
package versions

import (
	"context"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Subscription1 is the code of before, for the months that began with it. Subscription is the code of today.
//
//nolint:gochecknoglobals // constants: functions with a name
var (
	Subscription1 = orchestration.Define("subscription", flat, orchestration.Version("1"))
	Subscription  = orchestration.Define("subscription", byUse, orchestration.Version("2"))
)

// State is what one month leaves to the next. Every version must be able to decode it.
type State struct {
	Customer string
	Months   int
}

// Bill is what a customer pays for a month.
type Bill struct {
	Customer string
	Cents    int
}

// flat has one price for all.
func flat(ctx *orchestration.Context, s State) (State, error) {
	if err := ctx.Sleep(30 * 24 * time.Hour); err != nil {
		return s, err
	}
	return charge(ctx, s, 1000)
}

// byUse asks how much was used.
func byUse(ctx *orchestration.Context, s State) (State, error) {
	if err := ctx.Sleep(30 * 24 * time.Hour); err != nil {
		return s, err
	}
	hours, err := orchestration.CallActivity(ctx, Used, s.Customer, orchestration.WithRetry(orchestration.RetryPolicy{}))
	if err != nil {
		return s, err
	}
	return charge(ctx, s, 50*hours)
}

func charge(ctx *orchestration.Context, s State, cents int) (State, error) {
	bill := Bill{Customer: s.Customer, Cents: cents}
	if _, err := orchestration.CallActivity(ctx, Charge, bill, orchestration.WithRetry(orchestration.RetryPolicy{})); err != nil {
		return s, err
	}
	s.Months++
	if s.Months == 12 {
		return s, nil
	}
	return s, orchestration.ContinueAsNew(ctx, s)
}

// Used returns the hours that a customer has used in this month.
func Used(ctx context.Context, customer string) (int, error) {
	activity.Logger(ctx).InfoContext(ctx, "used", "customer", customer)
	return 30, nil
}

// Charge takes the money.
func Charge(ctx context.Context, b Bill) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "charge", "customer", b.Customer, "cents", b.Cents)
	return activity.None{}, nil
}
