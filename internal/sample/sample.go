// Package sample has a small shop that shows what the dashboard can show: for perdure dev, and for tests and screenshots.
package sample

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Register adds the orchestrations and activities of the shop.
func Register(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddOrchestration(reg, orchestration.Define("Order", takeOrder, orchestration.Version("2"))),
		runtime.AddOrchestration(reg, orchestration.Define("Delivery", deliver)),
		runtime.AddOrchestration(reg, orchestration.Define("Reminder", remind)),
		runtime.AddOrchestration(reg, orchestration.Define("Bill", bill)),
		runtime.AddOrchestration(reg, orchestration.Define("Refund", refund)),
		runtime.AddActivity(reg, Reserve),
		runtime.AddActivity(reg, Charge),
		runtime.AddActivity(reg, Carry, runtime.OnQueue("carriers")),
		runtime.AddActivity(reg, Pay),
	)
}

// Own refuses a store that has instances and was not made by Seed: the shop's worker would take their work.
func Own(ctx context.Context, c *client.Client) error {
	some, err := c.List(ctx, client.Filter{}, client.Page{Size: 1})
	if err != nil || len(some.Items) == 0 {
		return err
	}
	if d, err := c.Describe(ctx, "reminder-ann"); err != nil || d.Orchestration != "Reminder" {
		return errors.New("the database has instances that the sample shop has not made: use a new file")
	}
	return nil
}

// Seed starts instances of each kind. A repeat starts none again.
func Seed(ctx context.Context, c *client.Client) error {
	lines := []Line{{"lamp", 2}, {"bulb", 10}, {"cable", 1}}
	type start struct {
		name, id string
		in       any
		cancel   bool
	}
	starts := make([]start, 0, 12)
	starts = append(starts, []start{
		{name: "Reminder", id: "reminder-ann", in: 7},
		{name: "Refund", id: "refund-17", in: "Eve"},
		{name: "Bill", id: "bill-november", in: map[string]int{"lamp": 3}},
		{name: "Reminder", id: "reminder-bob", in: 2, cancel: true},
		{name: "Order", id: "order-1007", in: Order{Customer: "Carol", Region: "us", Lines: lines[:1], Slow: true}},
		{name: "Order", id: "order-1006", in: Order{Customer: "Bob", Region: "eu", Lines: lines, Approve: true}},
	}...)
	for i := range 6 {
		starts = append(starts, start{
			name: "Order", id: fmt.Sprintf("order-%d", 1000+i), in: Order{Customer: "Ann", Region: []string{"eu", "us", "apac"}[i%3], Lines: lines[:1+i%3]},
		})
	}
	for _, s := range starts {
		h, err := client.StartNamed[any](ctx, c, s.name, s.in, client.WithID(s.id), client.WithIDPolicy(client.UseExisting))
		if err == nil && s.cancel {
			err = h.Cancel(ctx, "the customer has ordered")
			if errors.Is(err, client.ErrEnded) {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("starting the sample %s: %w", s.id, err)
		}
	}
	return nil
}

// Settle waits until the samples have come as far as they do by themselves.
func Settle(ctx context.Context, c *client.Client) error {
	settled := map[string]func(*client.Description) bool{
		"refund-17": ended, "order-1000": ended, "order-1005": ended, "reminder-bob": ended,
		"bill-november": func(d *client.Description) bool { return d.Blocked != nil },
		"order-1006":    func(d *client.Description) bool { return d.HistoryLength > 7 && len(d.Activities) == 0 },
	}
	for id, done := range settled {
		for mark := ""; ; {
			d, next, err := c.Follow(ctx, id, mark, client.FollowFor(time.Minute))
			if err != nil {
				return fmt.Errorf("waiting for the sample %s: %w", id, err)
			}
			if done(&d) {
				break
			}
			mark = next
		}
	}
	return nil
}

func ended(d *client.Description) bool { return d.Status.Ended() }
