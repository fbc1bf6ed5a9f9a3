package waiting

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// patience bounds one check.
const patience = 5 * time.Second

// Watch looks at what waits, for the log of a node, until ctx is done. Of the nodes of one release only one looks at the work: the first by owner.
// A store that lists no nodes, or measures nothing, is not watched. The node checks again after a fault.
func Watch(ctx context.Context, store *provider.Full, owner string, logger *slog.Logger) {
	tick := time.NewTicker(Patience)
	defer tick.Stop()
	var alarm Alarm
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := checkOnce(ctx, store, owner, &alarm, logger); errors.Is(err, errors.ErrUnsupported) {
				return
			}
		}
	}
}

// checkOnce checks once, if this node is the one that does.
func checkOnce(ctx context.Context, store *provider.Full, owner string, alarm *Alarm, logger *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var f Facts
	var err error
	if f.Nodes, f.Now, err = upgrade.Nodes(ctx, store); err != nil || !f.first(owner) {
		return err
	}
	stats, err := store.Stats(ctx, provider.StatsRequest{Waiting: true})
	if err != nil {
		return err
	}
	if len(stats.Tasks) > 0 {
		if err := f.readMore(ctx, store); err != nil {
			return err
		}
	}
	alarm.Check(&f, stats.Tasks, logger)
	return nil
}

// first reports whether a node is the first that runs, by owner, of those with its release.
func (f *Facts) first(owner string) bool {
	for i := range f.Nodes { // they are in order
		n := &f.Nodes[i]
		if n.Owner == owner {
			return true
		}
		if !n.Lost(f.Now) && n.Release == upgrade.Release() {
			return false
		}
	}
	return false
}
