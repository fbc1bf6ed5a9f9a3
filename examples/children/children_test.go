package children_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/children"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestOneChildPerItem(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, children.Pack)
		h := orchestrationtest.Start(e, children.Deliver, []string{"lamp", "bulb"}, client.WithID("order-1"))
		if out, err := h.Wait(e.Context()); !slices.Equal(out, []string{"parcel with lamp", "parcel with bulb"}) || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		child, err := e.Client().Describe(e.Context(), "order-1/lamp")
		if err != nil || child.Status != client.StatusCompleted || child.Parent.ID != "order-1" {
			t.Errorf("%+v, %v", child, err)
		}
	})
}

func TestTwoChildrenOfOneID(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, children.Pack)
		_, err := orchestrationtest.Start(e, children.Deliver, []string{"cat", "cat"}, client.WithID("order-2")).Wait(e.Context())
		if err == nil || err.Error() != `instance "order-2" ended as Failed: an item is on the list twice` {
			t.Error(err)
		}
	})
}

func TestCountOverExecutions(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, children.Count, children.Meter{})
		for n := range 8 {
			if err := h.Raise(e.Context(), "amount", n+1); err != nil {
				t.Fatal(err)
			}
		}
		if sum, err := h.Wait(e.Context()); sum != 36 || err != nil { // over all executions
			t.Errorf("%d, %v", sum, err)
		}
		if d, err := h.Describe(e.Context()); d.Execution != 3 || err != nil {
			t.Errorf("execution %d, %v", d.Execution, err)
		}
	})
}

// The survey outlives its order.
func TestTheSurveyGoesOn(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, children.Survey)
		orchestrationtest.AddOrchestration(e, children.Pack)
		h := orchestrationtest.Start(e, children.Order, "lamp", client.WithID("order-3"))
		if out, err := h.Wait(e.Context()); out != "parcel with lamp" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		found, err := e.Client().List(e.Context(), client.Filter{Attributes: []client.AttributeFilter{client.AttributeIs("item", "lamp")}}, client.Page{})
		if err != nil || len(found.Items) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		survey := client.HandleOf[string](e.Client(), found.Items[0].ID, found.Items[0].Key)
		if out, err := survey.Wait(e.Context()); out != "how was the lamp?" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestThirdTryPacks(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, children.Pack, func(ctx *orchestration.Context, item string) (string, error) {
			if ctx.Info().ID != "order-4/parcel~3" {
				return "", errors.New("no box")
			}
			return "box with " + item, nil
		})
		h := orchestrationtest.Start(e, children.Ship, "lamp", client.WithID("order-4"))
		if out, err := h.Wait(e.Context()); out != "box with lamp" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		third, err := e.Client().Describe(e.Context(), "order-4/parcel~3")
		if err != nil || third.Status != client.StatusCompleted {
			t.Errorf("%+v, %v", third, err)
		}
	})
}
