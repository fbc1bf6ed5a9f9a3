// Package failures shows how errors keep their identity across a crash.
package failures

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// ErrDeclined is a value for errors.Is.
var ErrDeclined = errors.New("card declined")

// LimitError is a type for errors.As. Its exported fields are stored as JSON.
type LimitError struct{ Limit, Asked int }

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%d is over the limit of %d", e.Asked, e.Limit)
}

// Register names both errors. The names are stored, so they must never change.
func Register(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddError(reg, "shop.declined", ErrDeclined),
		runtime.AddErrorType[*LimitError](reg, "shop.limit"),
		runtime.AddActivity(reg, Charge),
		runtime.AddOrchestration(reg, Checkout),
	)
}

// Charge fails in different ways.
func Charge(_ context.Context, cents int) (string, error) {
	switch {
	case cents > 1000:
		return "", orchestration.NonRetryable(&LimitError{Limit: 1000, Asked: cents})
	case cents > 500:
		return "", fmt.Errorf("charging %d: %w", cents, ErrDeclined)
	case cents < 0:
		panic("negative amount")
	}
	return "paid", nil
}

// Checkout branches on the kind of error, like code without a store.
func Checkout(ctx *orchestration.Context, cents int) (string, error) {
	receipt, err := orchestration.CallActivity(ctx, Charge, cents)
	if errors.Is(err, ErrDeclined) {
		return "please use another card", nil
	}
	return receipt, err
}
