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

// Watch looks at what waits, for the log of a node, until ctx is done. Of the nodes of one release only one looks at the work: the first by owner
// that keeps figures, or the first one if none does. A store that lists no nodes is not watched. The node checks again after a fault. The Looker
// gets what the node has seen.
func Watch(ctx context.Context, store *provider.Full, owner string, look Looker, logger *slog.Logger) {
	tick := time.NewTicker(Patience)
	defer tick.Stop()
	c := check{store: store, owner: owner, look: look, logger: logger}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := c.once(ctx); errors.Is(err, errors.ErrUnsupported) {
				return
			}
		}
	}
}

// Looker gets what a node has seen every ten seconds, with the storage's time. What could not be read it does not get.
type Looker interface {
	Nodes(now provider.Time, nodes []upgrade.Node)
	Waiting(now provider.Time, tasks []provider.WaitingTasks) // only from the node that looks
}

// check looks at what waits.
type check struct {
	store  *provider.Full
	owner  string
	look   Looker
	logger *slog.Logger
	alarm  Alarm
	blind  bool // the store measures nothing
}

// once checks once, if this node is the one that does.
func (c *check) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var f Facts
	var err error
	if f.Nodes, f.Now, err = upgrade.Nodes(ctx, c.store); err != nil {
		return err
	}
	c.look.Nodes(f.Now, f.Nodes)
	if c.blind || !f.first(c.owner) {
		return nil
	}
	stats, err := c.store.Stats(ctx, provider.StatsRequest{Waiting: true})
	if c.blind = errors.Is(err, errors.ErrUnsupported); c.blind {
		return nil
	}
	if err != nil {
		return err
	}
	c.look.Waiting(f.Now, stats.Tasks)
	if len(stats.Tasks) > 0 {
		if err := f.readMore(ctx, c.store); err != nil {
			return err
		}
	}
	c.alarm.Check(&f, stats.Tasks, c.logger)
	return nil
}

// first reports whether a node is the first that runs, by owner, of those with its release that keep figures. If none of them does, it is the
// first of all with its release.
func (f *Facts) first(owner string) bool {
	first, counts := "", false
	for i := range f.Nodes { // they are in order
		n := &f.Nodes[i]
		if n.Owner != owner && (n.Lost(f.Now) || n.Release != upgrade.Release()) {
			continue
		}
		if first == "" || n.Counts != nil && !counts {
			first, counts = n.Owner, n.Counts != nil
		}
	}
	return owner != "" && first == owner
}
