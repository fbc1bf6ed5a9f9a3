package runtime

import (
	"context"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// register reads the level of the store and lists the node there, before its first fetch. run keeps both up to date as long
// as the node runs. A fault that may pass is left to run: until then the node uses what every node knows.
func register(ctx context.Context, cfg *dispatcher.Config, own int64) (level *upgrade.Level, run func(context.Context), err error) {
	level = upgrade.New(provider.FullOf(cfg.Provider), own)
	if err := level.Open(ctx); err != nil && !provider.Retryable(err) {
		return nil, nil, err
	}
	m, err := upgrade.Join(ctx, level, cfg.Owner, cfg.Capabilities(), cfg.Logger)
	if err != nil && !provider.Retryable(err) {
		return nil, nil, err
	}
	return level, m.Run, nil
}
