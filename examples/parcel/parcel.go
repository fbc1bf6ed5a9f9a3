// Package parcel handles events next to the function of the orchestration.
package parcel

import (
	"context"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Scan is an event: a depot has scanned the parcel.
type Scan struct {
	Depot string
}

// Tell is an activity that tells the customer.
func Tell(_ context.Context, what string) (orchestration.None, error) {
	return orchestration.None{}, nil
}

// Takings is the state that a till carries from one day to the next.
type Takings struct{ Cents, Days int }

// Receipt is an activity that prints a receipt.
func Receipt(_ context.Context, cents int) (orchestration.None, error) {
	return orchestration.None{}, nil
}

// Till counts coins by updates, for as long as it is open.
func Till(ctx *orchestration.Context, t Takings) (Takings, error) {
	orchestration.HandleUpdate(ctx, "pay", func(ctx *orchestration.Context, cents int) (int, error) {
		if _, err := orchestration.CallActivity(ctx, Receipt, cents); err != nil {
			return 0, err
		}
		t.Cents += cents
		return t.Cents, nil
	}, orchestration.Serial())
	evenings, closing := orchestration.Events[orchestration.None](ctx, "evening"), orchestration.Events[orchestration.None](ctx, "close")
	which, err := orchestration.Select(ctx, evenings, closing)
	if err != nil || which == 1 {
		return t, err
	}
	if _, err := evenings.Receive(ctx); err != nil {
		return t, err
	}
	t.Days++
	return t, orchestration.ContinueAsNewAfterHandlers(ctx, func() Takings { return t })
}

// Parcel follows a parcel until it is delivered. It returns the depots in the order of their scans.
func Parcel(ctx *orchestration.Context, _ orchestration.None) ([]string, error) {
	var depots []string
	ctx.SetHandlerGrace(time.Hour)
	orchestration.HandleEvent(ctx, "scan", func(ctx *orchestration.Context, s Scan) error {
		depots = append(depots, s.Depot)
		_, err := orchestration.CallActivity(ctx, Tell, "your parcel is in "+s.Depot)
		return err
	})
	_, err := orchestration.Events[orchestration.None](ctx, "delivered").Receive(ctx)
	return depots, err
}
