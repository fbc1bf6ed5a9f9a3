// Package dynamic runs orchestrations and activities whose names are known only when they are called: one function stands for all deliveries,
// and another one for all carriers.
package dynamic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Parcel is what is delivered.
type Parcel struct {
	ID    string `json:"id"`
	Grams int    `json:"grams"`
}

// Add registers the functions. A carrier that gets an activity of its own, such as "carrier.bike", needs no change here: a node that registers that
// name runs it.
func Add(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddOrchestrationFallback(reg, []string{"delivery.*"}, deliver),
		runtime.AddActivityFallback(reg, []string{"carrier.*"}, carry),
	)
}

// deliver runs "delivery.NAME": it hands a parcel to the carrier of that name.
func deliver(ctx *orchestration.Context, name string, input json.RawMessage) (json.RawMessage, error) {
	var parcel Parcel
	if err := json.Unmarshal(input, &parcel); err != nil {
		return nil, fmt.Errorf("the input of %s is no parcel: %w", name, err)
	}
	carrier := "carrier." + strings.TrimPrefix(name, "delivery.")
	return orchestration.CallActivityNamed[json.RawMessage](ctx, carrier, parcel)
}

// carry is the activity of every carrier without one of its own.
func carry(_ context.Context, name string, input json.RawMessage) (json.RawMessage, error) {
	var parcel Parcel
	if err := json.Unmarshal(input, &parcel); err != nil {
		return nil, fmt.Errorf("the input of %s is no parcel: %w", name, err)
	}
	return json.Marshal(fmt.Sprintf("%s took %s", strings.TrimPrefix(name, "carrier."), parcel.ID))
}
