// Package children shows children and continue-as-new.
package children

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

// Pack is a child. A child is an ordinary orchestration.
func Pack(_ *orchestration.Context, item string) (string, error) {
	return "parcel with " + item, nil
}

// Deliver starts one child for each item and joins them.
func Deliver(ctx *orchestration.Context, items []string) ([]string, error) {
	futures := make([]orchestration.Future[string], len(items))
	for i, item := range items {
		id := fmt.Sprintf("%s/%s", ctx.Info().ID, item)
		futures[i] = orchestration.StartOrchestration(ctx, Pack, item, orchestration.WithInstanceID(id))
	}
	parcels, err := orchestration.All(ctx, futures...)
	if errors.Is(err, orchestration.ErrExists) {
		return nil, errors.New("an item is on the list twice")
	}
	return parcels, err
}

// Meter is the state that a counter carries from one execution to the next.
type Meter struct{ Total, Seen int }

// maxEvents is the number of events that one execution of Count receives.
const maxEvents = 3

// Count adds up events until it has seen eight. A real counter may run forever.
func Count(ctx *orchestration.Context, m Meter) (int, error) {
	amounts := orchestration.Events[int](ctx, "amount")
	for range maxEvents {
		n, err := amounts.Receive(ctx)
		if err != nil {
			return 0, err
		}
		m.Total, m.Seen = m.Total+n, m.Seen+1
		if m.Seen == 8 {
			return m.Total, nil
		}
	}
	return 0, orchestration.ContinueAsNew(ctx, m)
}
