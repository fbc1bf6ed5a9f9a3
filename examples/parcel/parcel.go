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
