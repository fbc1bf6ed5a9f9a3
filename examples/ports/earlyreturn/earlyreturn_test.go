package earlyreturn_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/earlyreturn"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestCallerDoesNotWaitForTheCapture(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, earlyreturn.Pay)
		orchestrationtest.AddActivity(e, earlyreturn.Hold)
		orchestrationtest.Replace(e, earlyreturn.Capture, nil, orchestrationtest.Delay(3*time.Hour), orchestrationtest.Times(1))
		began := time.Now()
		for range 2 { // the second call is a repeat
			hold, err := earlyreturn.Begin(e.Context(), e.Client(), earlyreturn.Order{ID: "7", Cents: 4200})
			if hold != "hold-7" || err != nil || time.Since(began) != 0 {
				t.Errorf("%q, %v after %v", hold, err, time.Since(began))
			}
		}
		h, err := client.Lookup[string](e.Context(), e.Client(), "pay/7")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(e.Context()); err != nil || time.Since(began) != 3*time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestCallerLearnsThatThereIsNoMoney(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, earlyreturn.Pay)
		orchestrationtest.Replace(e, earlyreturn.Hold, nil, orchestrationtest.FailFirst(3, errors.New("no money")))
		orchestrationtest.Replace(e, earlyreturn.Release, nil, orchestrationtest.Times(1))
		_, err := earlyreturn.Begin(e.Context(), e.Client(), earlyreturn.Order{ID: "7"})
		if !errors.Is(err, client.ErrUpdateFailed) {
			t.Errorf("the caller gets %v", err)
		}
		h, err := client.Lookup[string](e.Context(), e.Client(), "pay/7")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(e.Context()); !errors.Is(err, client.ErrFailed) {
			t.Errorf("the payment ended with %v", err)
		}
	})
}
