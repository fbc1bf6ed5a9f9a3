package approval_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/approval"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestApproved(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, approval.Expense, 4200, client.WithID("expense-7"))
		ctx, c := e.Context(), e.Client()
		// A web handler, a command line or another process can raise events: by handle, or by ID.
		err := c.Raise(ctx, "expense-7", "decision", approval.Decision{By: "ann", Approved: true},
			client.WithRequestID("click-1"))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(ctx); out != "approved by ann" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestNoDecisionInADay(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		h := orchestrationtest.Start(e, approval.Expense, 4200)
		if out, err := h.Wait(e.Context()); out != "no decision" || err != nil || time.Since(began) != 24*time.Hour {
			t.Errorf("%q, %v after %v", out, err, time.Since(began))
		}
	})
}

func TestBasket(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h, ctx := orchestrationtest.Start(e, approval.Basket, orchestration.None{}), e.Context()
		if err := errors.Join(
			h.Raise(ctx, "line", approval.Line{Item: "lamp", Count: 1}),
			h.Raise(ctx, "line", approval.Line{Item: "bulb", Count: 4}),
			h.Raise(ctx, "line", approval.Line{Item: "bulb", Count: 2}),
			h.Raise(ctx, "checkout", orchestration.None{}),
		); err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(ctx); !maps.Equal(out, map[string]int{"bulb": 6, "lamp": 1}) || err != nil {
			t.Errorf("%v, %v", out, err)
		}
	})
}

// Tea comes into the basket that runs, and after its end into a new one.
func TestTea(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, approval.Basket)
		for _, cups := range []int{4, 2} {
			var h client.Handle[map[string]int]
			for range cups / 2 {
				var err error
				if h, err = approval.AddTea(e.Context(), e.Client()); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := h.Wait(e.Context()); !maps.Equal(out, map[string]int{"tea": cups}) || err != nil {
				t.Errorf("%v, %v", out, err)
			}
		}
	})
}
