// Package retry shows retry policies, timeouts of attempts and timeouts of whole pieces of work.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// ErrNoCard means that trying again is of no use.
var ErrNoCard = errors.New("there is no such card")

// Charge asks a bank that is away for the first two attempts.
func Charge(ctx context.Context, card string) (string, error) {
	if card == "" {
		return "", orchestration.NonRetryable(ErrNoCard)
	}
	if n := activity.GetInfo(ctx).Attempt; n < 3 {
		return "", fmt.Errorf("the bank is away (attempt %d)", n)
	}
	return "paid with " + card, nil
}

// Pay tries five times: after 20 ms, 40 ms, 80 ms and 100 ms.
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

// Hang obeys its context, as every activity that may take long should.
func Hang(ctx context.Context, _ orchestration.None) (orchestration.None, error) {
	<-ctx.Done()
	return orchestration.None{}, context.Cause(ctx)
}

// Impatient gives each attempt 20 ms and tries twice.
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

// Bounded gives a piece of work 50 ms altogether, retries and all.
func Bounded(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	limited, cancel := ctx.WithTimeout(50 * time.Millisecond)
	defer cancel()
	_, err := orchestration.CallActivity(limited, Hang, orchestration.None{})
	if errors.Is(err, orchestration.ErrTimeout) {
		return "gave up after 50 ms", nil
	}
	return "", err
}
