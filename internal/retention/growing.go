package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// many is how many ended instances a store may keep without rules before somebody should hear of it.
const many = 100_000

// Growing returns how many ended instances a store has if they are many and no rule removes any, else 0.
func Growing(ctx context.Context, store provider.Keeper, counts map[provider.Status]int64) (ended int64, err error) {
	for status, n := range counts {
		if status.Ended() {
			ended += n
		}
	}
	if ended <= many {
		return 0, nil
	}
	res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: Space, Key: Record})
	switch {
	case errors.Is(err, provider.ErrNotFound), errors.Is(err, errors.ErrUnsupported):
		return ended, nil
	case err != nil:
		return 0, fmt.Errorf("reading the retention rules: %w", err)
	}
	var rules Rules
	if err := json.Unmarshal(res.Records[0].Value, &rules); err != nil {
		return 0, fmt.Errorf("reading the retention rules: %w", err)
	}
	if len(rules.Rules) > 0 {
		return 0, nil
	}
	return ended, nil
}
