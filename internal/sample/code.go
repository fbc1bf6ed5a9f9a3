package sample

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Line is an item of an order.
type Line struct {
	SKU   string `json:"sku"`
	Count int    `json:"count"`
}

// Order is the input of the orchestration Order.
type Order struct {
	Customer string `json:"customer"`
	Region   string `json:"region"`
	Lines    []Line `json:"lines"`
	// Approve makes the order wait for the event "approval".
	Approve bool `json:"approve,omitempty"`
	// Slow makes the carrier fail, so that its activity is tried again and again.
	Slow bool `json:"slow,omitempty"`
}

// Progress is the status that an order shows.
type Progress struct {
	Step string `json:"step"`
	Done int    `json:"done"`
	Of   int    `json:"of"`
}

// Approval is the event that an order waits for.
type Approval struct {
	By string `json:"by"`
}

var errCarrier = errors.New("the carrier does not answer: 503 Service Unavailable")

// takeOrder reserves, charges and ships an order.
func takeOrder(ctx *orchestration.Context, o Order) (string, error) {
	p := Progress{Step: "reserving", Of: 3}
	show := func(step string) {
		p.Step = step
		ctx.SetStatus(p)
		p.Done++
	}
	orchestration.SetAttribute(ctx, "region", o.Region)
	orchestration.SetAttribute(ctx, "items", len(o.Lines))
	orchestration.HandleQuery(ctx, "progress", func(orchestration.None) (Progress, error) { return p, nil })
	address := "the address of the account"
	orchestration.HandleUpdate(ctx, "address", func(_ *orchestration.Context, to string) (string, error) {
		was := address
		address = to
		return was, nil
	})
	show("reserving")
	for _, l := range o.Lines {
		if _, err := orchestration.CallActivity(ctx, Reserve, l); err != nil {
			return "", err
		}
	}
	if o.Approve {
		show("waiting for approval")
		a, err := orchestration.Events[Approval](ctx, "approval").Receive(ctx, orchestration.Within(7*24*time.Hour),
			orchestration.Waiting("approve the order of "+o.Customer+"?"))
		if err != nil {
			return "", err
		}
		orchestration.SetValue(ctx, "approved by", a.By)
	}
	show("charging")
	number, err := orchestration.CallActivity(ctx, Charge, o.Customer)
	if err != nil {
		return "", err
	}
	show("shipping")
	label, err := orchestration.CallOrchestrationNamed[string](ctx, "Delivery", o, orchestration.WithInstanceID(ctx.Info().ID+"/delivery"))
	if err != nil {
		return "", err
	}
	orchestration.SetValue(ctx, "label", label)
	p.Step = "done"
	ctx.SetStatus(p)
	return fmt.Sprintf("receipt %s, parcel %s to %s", number, label, address), nil
}

// deliver is a child of an order.
func deliver(ctx *orchestration.Context, o Order) (string, error) {
	policy := orchestration.RetryPolicy{MaxAttempts: 10, InitialInterval: time.Second, MaxInterval: time.Hour, Coefficient: 20}
	return orchestration.CallActivity(ctx, Carry, o, orchestration.WithRetry(policy), orchestration.WithQueue("carriers"))
}

// remind waits for a week.
func remind(ctx *orchestration.Context, days int) (string, error) {
	if err := ctx.Sleep(time.Duration(days) * 24 * time.Hour); err != nil {
		return "", err
	}
	return "reminded", nil
}

// bill cannot count: its turns fail until it is mended.
func bill(_ *orchestration.Context, lines map[string]int) (int, error) {
	var rates map[string]int
	for name := range lines {
		rates[name]++ //nolint:govet,staticcheck // a panic
	}
	return 0, nil
}

// refund fails.
func refund(ctx *orchestration.Context, customer string) (string, error) {
	return orchestration.CallActivity(ctx, Pay, customer, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Millisecond}))
}

// Reserve takes a line from the stock.
func Reserve(_ context.Context, l Line) (string, error) {
	return fmt.Sprintf("%s-%d", l.SKU, l.Count), nil
}

// Charge takes the money.
func Charge(_ context.Context, customer string) (string, error) {
	return fmt.Sprintf("R-%06d", len(customer)*7919), nil
}

// Carry hands a parcel over.
func Carry(_ context.Context, o Order) (string, error) {
	if o.Slow {
		return "", errCarrier
	}
	return fmt.Sprintf("PX-%s-%d", o.Region, len(o.Lines)), nil
}

// Pay sends money back.
func Pay(_ context.Context, customer string) (string, error) {
	return "", fmt.Errorf("the bank has no account of %s: %w", customer, errors.New("IBAN unknown"))
}
