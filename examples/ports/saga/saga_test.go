package saga_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/examples/ports/saga"
	"github.com/perdure/perdure/orchestrationtest"
)

// Ship and Recall are neither registered nor replaced: a call of them would fail the test.
func TestFailedStepIsUndoneWithThoseBefore(t *testing.T) {
	for name, charge := range map[string][]orchestrationtest.ReplaceOption{
		"declined":  {orchestrationtest.FailFirst(3, errors.New("the card was declined")), orchestrationtest.Times(3)},
		"cancelled": {orchestrationtest.Delay(2 * time.Hour), orchestrationtest.Times(1)}, // an hour after the start
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				var undone []string
				note := func(what string) func(context.Context, saga.Order) (activity.None, error) {
					return func(context.Context, saga.Order) (activity.None, error) {
						undone = append(undone, what)
						return activity.None{}, nil
					}
				}
				orchestrationtest.AddActivity(e, saga.Reserve)
				orchestrationtest.Replace(e, saga.Release, note("reserve"))
				orchestrationtest.Replace(e, saga.Charge, nil, charge...)
				orchestrationtest.Replace(e, saga.Refund, note("charge"))
				h := orchestrationtest.Start(e, saga.Buy, saga.Order{ID: "7", Item: "lamp", Cents: 4200})
				e.After(time.Hour, func() error { return h.Cancel(e.Context(), "the customer has changed her mind") })
				_, err := h.Wait(e.Context())
				if want := []string{"charge", "reserve"}; err == nil || !slices.Equal(undone, want) {
					t.Errorf("%v, undone are %v, want %v", err, undone, want)
				}
			})
		})
	}
}

func TestNothingIsUndoneIfAllSucceeds(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, saga.Reserve)
		orchestrationtest.AddActivity(e, saga.Charge)
		orchestrationtest.AddActivity(e, saga.Ship)
		if _, err := orchestrationtest.Start(e, saga.Buy, saga.Order{ID: "7"}).Wait(e.Context()); err != nil {
			t.Error(err)
		}
	})
}
