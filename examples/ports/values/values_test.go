package values_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/values"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestCallerGetsThePage(t *testing.T) {
	for want, pays := range map[string]bool{"paid": true, "expired": false} {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.AddOrchestration(e, values.Checkout)
			orchestrationtest.Replace(e, values.Open, values.Open, orchestrationtest.Delay(5*time.Second))
			for range 2 { // the second call is a repeat
				page, err := values.Begin(e.Context(), e.Client(), "7")
				if page != "https://bank.example/7" || err != nil {
					t.Errorf("%q, %v", page, err)
				}
			}
			h, err := client.Lookup[string](e.Context(), e.Client(), "checkout/7")
			if err != nil {
				t.Fatal(err)
			}
			if pays {
				if err := h.Raise(e.Context(), "paid", "receipt 1"); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := h.Wait(e.Context()); got != want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			if page, err := values.Begin(e.Context(), e.Client(), "7"); err == nil {
				t.Errorf("the page is still shown: %q", page)
			}
		})
	}
}
