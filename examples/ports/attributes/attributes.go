// Package attributes makes orders findable by what they are and how far they have come. client.WithAttribute sets attributes at the start and
// orchestration.SetAttribute later, in the commit of the turn. client.List finds instances by their values and ranges.
package attributes

import (
	"context"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Order is what a customer of a region buys.
type Order struct {
	Region string
	Cents  int
}

// Fulfil waits until the order is packed, and a day until it is delivered.
func Fulfil(ctx *orchestration.Context, _ Order) (orchestration.None, error) {
	orchestration.SetAttribute(ctx, "stage", "ordered")
	if _, err := orchestration.Events[orchestration.None](ctx, "packed").Receive(ctx); err != nil {
		return orchestration.None{}, err
	}
	orchestration.SetAttribute(ctx, "stage", "packed")
	orchestration.SetAttribute(ctx, "due", ctx.Now().Add(24*time.Hour))
	return orchestration.None{}, ctx.Sleep(24 * time.Hour)
}

// Place starts an order.
func Place(ctx context.Context, c *client.Client, id string, o Order) (client.Handle[orchestration.None], error) {
	return client.Start(ctx, c, Fulfil, o, client.WithID(id),
		client.WithAttribute("region", o.Region), client.WithAttribute("cents", o.Cents))
}

// Large returns the IDs of orders of a region that are not packed and cost at least so much, newest first.
func Large(ctx context.Context, c *client.Client, region string, cents int) ([]string, error) {
	found, err := c.List(ctx, client.Filter{
		Orchestration: "Fulfil",
		Statuses:      []client.Status{client.StatusRunning},
		Attributes: []client.AttributeFilter{
			client.AttributeIs("region", region), client.AttributeIs("stage", "ordered"), client.AttributeFrom("cents", cents),
		},
	}, client.Page{Size: 100})
	ids := make([]string, 0, len(found.Items))
	for _, order := range found.Items {
		ids = append(ids, order.ID)
	}
	return ids, err
}
