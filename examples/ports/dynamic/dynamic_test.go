package dynamic_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/dynamic"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// One function runs every delivery. A carrier with an activity of its own is not left to the other one.
func TestDeliveries(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(dynamic.Add)
		e.Register(func(reg *runtime.Registry) error {
			return runtime.AddActivity(reg, activity.Define("carrier.bike", func(_ context.Context, p dynamic.Parcel) (string, error) {
				if p.Grams > 5000 {
					return "", errors.New("too heavy for a bike")
				}
				return "the bike took " + p.ID, nil
			}))
		})
		for _, c := range []struct {
			name  string
			grams int
			want  string
			fails bool
		}{
			{"delivery.train", 9000, "train took p1", false},
			{"delivery.ship", 9000, "ship took p1", false},
			{"delivery.bike", 100, "the bike took p1", false},
			{"delivery.bike", 9000, "", true},
		} {
			h, err := client.StartNamed[string](e.Context(), e.Client(), c.name, dynamic.Parcel{ID: "p1", Grams: c.grams})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := h.Wait(e.Context()); got != c.want || err != nil != c.fails {
				t.Errorf("%s, %d g: %q, %v", c.name, c.grams, got, err)
			}
		}
	})
}
