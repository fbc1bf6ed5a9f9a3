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
// A store that lists no nodes, or measures nothing, is not watched. The node checks again after a fault. The Looker gets what the node has seen.
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

// Looker gets what waits at each look of this node, with the storage's time. err says that it could not be read, and tasks is nil then.
type Looker func(now provider.Time, tasks []provider.WaitingTasks, err error)

// check looks at what waits.
type check struct {
	store  *provider.Full
	owner  string
	look   Looker
	logger *slog.Logger
	alarm  Alarm
	first  bool // this node was the one that looks, at the last check
}

// once checks once, if this node is the one that does.
func (c *check) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var f Facts
	var err error
	if f.Nodes, f.Now, err = upgrade.Nodes(ctx, c.store); err != nil {
		c.failed(err)
		return err
	}
	if c.first = f.first(c.owner); !c.first {
		return nil
	}
	stats, err := c.store.Stats(ctx, provider.StatsRequest{Waiting: true})
	if err != nil {
		c.failed(err)
		return err
	}
	c.look(f.Now, stats.Tasks, nil)
	if len(stats.Tasks) > 0 {
		if err := f.readMore(ctx, c.store); err != nil {
			return err
		}
	}
	c.alarm.Check(&f, stats.Tasks, c.logger)
	return nil
}

// failed tells that what waits is not known, if this node looks.
func (c *check) failed(err error) {
	if c.first && !errors.Is(err, errors.ErrUnsupported) {
		c.look(0, nil, err)
	}
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
