package maporder

import (
	"maps"
	"slices"
	"sort"

	"github.com/perdure/perdure/orchestration"
)

func clean(ctx *orchestration.Context, items map[string]int) (int, error) {
	total := 0
	for _, n := range items { // adding has no order
		total += n
	}
	for item, n := range items { // values have no order, and no event
		orchestration.SetValue(ctx, item, n)
		ctx.Logger().Info(item)
	}
	for _, item := range slices.Sorted(maps.Keys(items)) {
		if err := one(ctx, item); err != nil {
			return 0, err
		}
	}
	var names []string
	for item := range items {
		names = append(names, item)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := one(ctx, name); err != nil {
			return 0, err
		}
	}
	keys := slices.Collect(maps.Keys(items))
	slices.Sort(keys)
	for _, key := range keys {
		if err := one(ctx, key); err != nil {
			return 0, err
		}
	}
	copied := map[string]int{}
	for item, n := range items {
		copied[item] = n
	}
	var list []string
	for item := range items {
		list = append(list, item)
	}
	// The history keeps an input as it was the first time.
	if _, err := orchestration.CallActivityNamed[int](ctx, "ship all", list); err != nil {
		return 0, err
	}
	return total, nil
}

// No orchestration code.
func elsewhere(items map[string]int) (keys []string) {
	for item := range items {
		keys = append(keys, item)
	}
	return keys
}
