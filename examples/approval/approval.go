// Package approval shows how orchestrations wait for events.
package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Decision is the event that an expense waits for.
type Decision struct {
	By       string
	Approved bool
}

// Expense waits a day for a decision.
func Expense(ctx *orchestration.Context, cents int) (string, error) {
	decisions := orchestration.Events[Decision](ctx, "decision")
	d, err := decisions.Receive(ctx, orchestration.Within(24*time.Hour), orchestration.Waiting(fmt.Sprintf("approve %d cents?", cents)))
	switch {
	case errors.Is(err, orchestration.ErrTimeout):
		return "no decision", nil
	case err != nil:
		return "", err
	case !d.Approved:
		return "refused by " + d.By, nil
	}
	return "approved by " + d.By, nil
}

// Line is an event of a basket.
type Line struct {
	Item  string
	Count int
}

// AddTea puts tea into a basket: the one that runs, or a new one.
func AddTea(ctx context.Context, c *client.Client) (client.Handle[map[string]int], error) {
	h, err := client.Start(ctx, c, Basket, orchestration.None{}, client.WithID("basket-7"),
		client.WithIDPolicy(client.UseRunning), client.WithEvent("line", Line{Item: "tea", Count: 2}))
	return h, err
}

// Basket collects lines until a checkout event, or until no event arrives for an hour.
func Basket(ctx *orchestration.Context, _ orchestration.None) (map[string]int, error) {
	lines := orchestration.Events[Line](ctx, "line")
	checkout := orchestration.Events[orchestration.None](ctx, "checkout")
	basket := map[string]int{}
	for {
		idle := orchestration.StartTimer(ctx, time.Hour)
		which, err := orchestration.Select(ctx, lines, checkout, idle)
		if err != nil {
			return nil, err
		}
		idle.Cancel()
		if which != 0 {
			_, _, err = checkout.TryReceive() // an event that nobody takes is told as unread
			return basket, err
		}
		line, err := lines.Receive(ctx)
		if err != nil {
			return nil, err
		}
		basket[line.Item] += line.Count
	}
}
