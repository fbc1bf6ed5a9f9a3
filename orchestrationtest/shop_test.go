package orchestrationtest_test

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

type order struct {
	ID    string
	Cents int
}

type receipt struct{ Number string }

var errReal = errors.New("the real function ran")

func Charge(context.Context, order) (receipt, error) { return receipt{}, errReal }

type mailer struct{ post func(text string) error }

func (m *mailer) Send(_ context.Context, text string) (orchestration.None, error) {
	return orchestration.None{}, m.post(text)
}

// pack has no name of its own.
var pack = activity.Define("pack", func(context.Context, string) (int, error) { return 0, errReal })

func Deliver(ctx *orchestration.Context, o order) (string, error) {
	parcels, err := orchestration.CallActivity(ctx, pack, o.ID)
	if err != nil || parcels == 0 {
		return "", errors.Join(err, errReal)
	}
	return "delivered", ctx.Sleep(48 * time.Hour)
}

// Checkout charges an order, waits for an approval for two days, sends a letter and delivers.
func Checkout(ctx *orchestration.Context, o order) (string, error) {
	paid, err := orchestration.CallActivity(ctx, Charge, o, orchestration.WithRetry(orchestration.RetryPolicy{
		InitialInterval: time.Hour, MaxInterval: time.Hour, Jitter: orchestration.Off,
	}))
	if err != nil {
		return "", err
	}
	by, err := orchestration.Events[string](ctx, "approval").Receive(ctx, orchestration.Within(48*time.Hour))
	if err != nil {
		return "", err
	}
	var m *mailer
	if _, err = orchestration.CallActivity(ctx, m.Send, paid.Number+" approved by "+by); err != nil {
		return "", err
	}
	return orchestration.CallOrchestration(ctx, Deliver, o)
}
