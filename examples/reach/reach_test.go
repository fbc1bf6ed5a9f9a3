package reach_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/reach"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestOrdersReachTheStock(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		ctx := e.Context()
		orchestrationtest.AddOrchestration(e, reach.Survey)
		stock := orchestrationtest.Start(e, reach.Stock, 1, client.WithID("stock/lamp"))
		order := func(id, want string) {
			t.Helper()
			if out, err := orchestrationtest.Start(e, reach.Order, "lamp", client.WithID(id)).Wait(ctx); out != want || err != nil {
				t.Errorf("%s: %q, %v, want %q", id, out, err, want)
			}
		}
		order("order-1", "ordered; survey/order-1 follows")
		if left, err := stock.Wait(ctx); left != 0 || err != nil {
			t.Errorf("%d are left, %v", left, err)
		}
		order("order-2", "no lamp left")

		// The order has ended, and its survey goes on.
		survey, err := client.Lookup[string](ctx, e.Client(), "survey/order-1")
		if err != nil {
			t.Fatal(err)
		}
		e.After(6*24*time.Hour, func() error { return survey.Raise(ctx, "answer", "fine") })
		if answer, err := survey.Wait(ctx); answer != "fine" || err != nil {
			t.Errorf("%q, %v", answer, err)
		}
	})
}

// A customer who does not answer within a day is given up, and the next one is asked.
func TestRounds(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		orchestrationtest.AddOrchestration(e, reach.Survey)
		if _, err := orchestrationtest.Start(e, reach.Rounds, []string{"ann", "ben"}).Wait(e.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 48*time.Hour {
			t.Errorf("it took %v, want two days", took)
		}
	})
}
