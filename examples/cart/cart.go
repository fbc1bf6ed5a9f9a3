// Package cart shows how a client asks a running orchestration for its state.
package cart

import (
	"maps"

	"github.com/perdure/perdure/orchestration"
)

// Item is the event that adds to a cart. A count of zero checks out.
type Item struct {
	Name  string
	Count int
}

// Shop fills a cart until the checkout. It returns the number of items.
func Shop(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	counts, total := map[string]int{}, 0
	orchestration.HandleQuery(ctx, "cart", func(orchestration.None) (map[string]int, error) {
		return maps.Clone(counts), nil
	})
	orchestration.HandleQuery(ctx, "count", func(name string) (int, error) { return counts[name], nil })
	for {
		item, err := orchestration.Events[Item](ctx, "item").Receive(ctx)
		if err != nil || item.Count == 0 {
			return total, err
		}
		counts[item.Name] += item.Count
		total += item.Count
	}
}
