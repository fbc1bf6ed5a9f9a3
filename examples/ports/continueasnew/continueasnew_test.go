package continueasnew_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/continueasnew"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// Booking takes two hours. The deposits of the last hour of a month and of the last hour of the account are still being booked then.
func TestNoDepositIsLostBetweenMonths(t *testing.T) {
	const day = 24 * time.Hour
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, continueasnew.Book, nil, orchestrationtest.Delay(2*time.Hour), orchestrationtest.Times(4))
		h := orchestrationtest.Start(e, continueasnew.Account, continueasnew.State{})
		for _, at := range []time.Duration{day, 30*day - time.Hour, 31 * day, 70*day - time.Hour} {
			e.After(at, func() error {
				_, err := client.Update[int](e.Context(), h.Handle, "deposit", 10)
				return err
			})
		}
		e.After(70*day, func() error { return h.Raise(e.Context(), "close", orchestration.None{}) })
		got, err := h.Wait(e.Context())
		if want := (continueasnew.State{Cents: 40, Months: 2}); got != want || err != nil {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	})
}

func TestDepositOfNothingIsRejected(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, continueasnew.Account, continueasnew.State{})
		if _, err := client.Update[int](e.Context(), h.Handle, "deposit", 0); !errors.Is(err, client.ErrRejected) {
			t.Error(err)
		}
	})
}
