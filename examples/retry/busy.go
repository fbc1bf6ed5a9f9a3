package retry

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// ErrBusy goes by.
var ErrBusy = errors.New("too many requests")

// Ask asks a service that says at first when to come again.
func Ask(ctx context.Context, question string) (string, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		comeAgain := 20 * time.Millisecond // of the answer's header Retry-After
		return "", activity.RetryAfter(ErrBusy, comeAgain)
	}
	return question + "? 42", nil
}

// Patient begins no attempt later than an hour after the call.
func Patient(ctx *orchestration.Context, question string) (string, error) {
	return orchestration.CallActivity(ctx, Ask, question,
		orchestration.WithRetry(orchestration.RetryPolicy{MaxElapsed: time.Hour}))
}
