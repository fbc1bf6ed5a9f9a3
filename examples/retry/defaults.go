package retry

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Ship calls a carrier that is unavailable for the first attempt.
func Ship(ctx context.Context, parcel string) (string, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return "", errors.New("the carrier is unavailable")
	}
	return "shipped " + parcel, nil
}

// Register gives all calls of Ship three attempts of at most a minute.
func Register(reg *runtime.Registry) error {
	return runtime.AddActivity(reg, Ship, runtime.Defaults(
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: 20 * time.Millisecond}),
		orchestration.WithStartToCloseTimeout(time.Minute),
	))
}

// Send calls Ship with the options that it is registered with.
func Send(ctx *orchestration.Context, parcel string) (string, error) {
	return orchestration.CallActivity(ctx, Ship, parcel)
}

// Order calls two activities with the options of a scope.
func Order(ctx *orchestration.Context, card string) (string, error) {
	patient := ctx.WithActivityOptions(
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5, InitialInterval: 20 * time.Millisecond}),
		orchestration.WithStartToCloseTimeout(10*time.Second),
	)
	paid, err := orchestration.CallActivity(patient, Charge, card)
	if err != nil {
		return "", err
	}
	shipped, err := orchestration.CallActivity(patient, Ship, "parcel 7", orchestration.WithStartToCloseTimeout(time.Hour))
	return paid + ", " + shipped, err
}
