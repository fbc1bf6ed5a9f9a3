package retry

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// ErrBusy is a temporary failure.
var ErrBusy = errors.New("too many requests")

// Ask calls a service that at first says when to retry.
func Ask(ctx context.Context, question string) (string, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		comeAgain := 20 * time.Millisecond // from the response header Retry-After
		return "", activity.RetryAfter(ErrBusy, comeAgain)
	}
	return question + "? 42", nil
}

// Patient starts no attempt later than an hour after the call.
func Patient(ctx *orchestration.Context, question string) (string, error) {
	return orchestration.CallActivity(ctx, Ask, question,
		orchestration.WithRetry(orchestration.RetryPolicy{MaxElapsed: time.Hour}))
}
