package runtime

import (
	"context"
	"log/slog"
	"maps"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/system"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// keep brings the retention of the store up to date.
func keep(ctx context.Context, store provider.Provider, opts *Options) error {
	if opts.Retention == nil {
		return nil
	}
	c, err := client.New(store, client.Options{Logger: opts.Logger})
	if err != nil {
		return err
	}
	return operate.New(c).SetRetention(ctx, *opts.Retention)
}

// addSystem adds the code of perdure itself to that of the user. A node without activities runs its orchestrations only.
func addSystem(ctx context.Context, cfg *dispatcher.Config, logger *slog.Logger) error {
	c, err := client.New(cfg.Provider, client.Options{Logger: logger})
	if err != nil {
		return err
	}
	code, err := system.New(c)
	if err != nil {
		return err
	}
	if err := code.Extend(ctx, c); err != nil {
		return err
	}
	maps.Copy(cfg.Orchestrations, code.Orchestrations)
	cfg.Env.Newest = newestOf(cfg.Orchestrations)
	if cfg.MaxActivities > 0 && len(code.Activities) > 0 {
		if cfg.Activities[reserved.Queue] == nil { // else the user has a queue of that name
			cfg.Activities[reserved.Queue] = make(map[string]bind.ActivityFunc)
		}
		maps.Copy(cfg.Activities[reserved.Queue], code.Activities)
	}
	return nil
}
