// Package retry shows retry policies, timeouts of attempts and timeouts of whole scopes.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// ErrNoCard means that a retry is pointless.
var ErrNoCard = errors.New("there is no such card")

// Charge calls a bank that is unavailable for the first two attempts.
func Charge(ctx context.Context, card string) (string, error) {
	if card == "" {
		return "", orchestration.NonRetryable(ErrNoCard)
	}
	if n := activity.GetInfo(ctx).Attempt; n < 3 {
		return "", fmt.Errorf("the bank is unavailable (attempt %d)", n)
	}
	return "paid with " + card, nil
}

// Pay makes five attempts, with retries after 20 ms, 40 ms, 80 ms and 100 ms.
func Pay(ctx *orchestration.Context, card string) (string, error) {
	return orchestration.CallActivity(ctx, Charge, card,
		orchestration.WithRetry(orchestration.RetryPolicy{
			MaxAttempts:     5,
			InitialInterval: 20 * time.Millisecond,
			MaxInterval:     100 * time.Millisecond,
		}),
		orchestration.WithStartToCloseTimeout(10*time.Second),
	)
}

// Hang obeys its context, as every long activity should.
func Hang(ctx context.Context, _ orchestration.None) (orchestration.None, error) {
	<-ctx.Done()
	return orchestration.None{}, context.Cause(ctx)
}

// Impatient makes two attempts of 20 ms each.
func Impatient(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	_, err := orchestration.CallActivity(ctx, Hang, orchestration.None{},
		orchestration.WithStartToCloseTimeout(20*time.Millisecond),
		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Millisecond}),
	)
	if errors.Is(err, orchestration.ErrTimeout) {
		return "gave up after two attempts", nil
	}
	return "", err
}

// Bounded limits a scope to 50 ms in total, including retries.
func Bounded(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	limited, cancel := ctx.WithTimeout(50 * time.Millisecond)
	defer cancel()
	_, err := orchestration.CallActivity(limited, Hang, orchestration.None{})
	if errors.Is(err, orchestration.ErrTimeout) {
		return "gave up after 50 ms", nil
	}
	return "", err
}
