// Package virtualtime shows how to test orchestrations that take days in milliseconds.
package virtualtime

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Mailer sends letters.
type Mailer struct {
	Post func(ctx context.Context, text string) error
}

// Send sends one letter.
func (m *Mailer) Send(ctx context.Context, text string) (orchestration.None, error) {
	return orchestration.None{}, m.Post(ctx, text)
}

// Invoice sends a reminder once a day until the invoice is paid, at most three times.
func Invoice(ctx *orchestration.Context, number string) (string, error) {
	var mailer *Mailer
	payments := orchestration.Events[int](ctx, "payment")
	for range 3 {
		_, err := payments.Receive(ctx, orchestration.Within(24*time.Hour))
		if err == nil {
			return "paid", nil
		}
		if !errors.Is(err, orchestration.ErrTimeout) {
			return "", err
		}
		_, err = orchestration.CallActivity(ctx, mailer.Send, "please pay "+number,
			orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Hour, MaxInterval: time.Hour}))
		if err != nil {
			return "", err
		}
	}
	return "to the lawyer", nil
}
