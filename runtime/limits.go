package runtime

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

const (
	// limitInterval is how often a node looks for instances that are over their time limit.
	limitInterval = 5 * time.Second
	// limitIdle is how often it looks while no instance has a limit.
	limitIdle = 15 * time.Second
	// limitWhole is how often such a look is whole.
	limitWhole = time.Hour
	// limitPatience bounds one look.
	limitPatience = time.Minute
)

// limits enforces the time limits of instances, as long as a node runs.
type limits struct {
	keeper access.LimitKeeper
	store  *provider.Full
	owner  string
	logger *slog.Logger
}

func newLimits(store *provider.Full, owner string, logger *slog.Logger) (*limits, error) {
	c, err := client.New(store, client.Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	return &limits{keeper: access.CallerOf(c).Limits(), store: store, owner: owner, logger: logger}, nil
}

// run looks until ctx is done. A store that cannot list instances has no limits.
func (l *limits) run(ctx context.Context) {
	tick := time.NewTicker(limitInterval)
	defer tick.Stop()
	var whole time.Time // when the last whole look was
	failing, idle := false, false
	for {
		all := idle || time.Since(whole) >= limitWhole
		next, err := l.look(ctx, all)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return
		case err == nil && all:
			whole = time.Now()
		case err != nil && ctx.Err() == nil && !failing:
			l.logger.Warn("time limits of instances cannot be enforced: the node tries again", "err", err)
		}
		failing = err != nil
		if all && idle != (next == 0 && !failing) {
			if idle = !idle; idle {
				tick.Reset(limitIdle)
			} else {
				tick.Reset(limitInterval)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// follow is run in a test without timers: each look is whole, and the next one is when a limit is due or the kit tells of a change.
func (l *limits) follow(ctx context.Context, changes *bubble.Changes) {
	for {
		changed := changes.Next()
		next, err := l.look(ctx, true)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if err != nil && next == 0 {
			next = limitInterval
		}
		var due <-chan time.Time // nil: never
		var timer *time.Timer
		if next > 0 {
			timer = time.NewTimer(next)
			due = timer.C
		}
		select {
		case <-changed:
		case <-due:
		case <-ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (l *limits) look(ctx context.Context, whole bool) (next time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, limitPatience)
	defer cancel()
	return l.keeper.Look(ctx, whole, func() bool { return l.first(ctx) })
}

// first reports whether this node is the first one that runs, of those that the store lists.
func (l *limits) first(ctx context.Context) bool {
	nodes, now, err := upgrade.Nodes(ctx, l.store)
	if err != nil {
		return true
	}
	for i := range nodes { // they are in order
		if n := &nodes[i]; n.Owner == l.owner || !n.Lost(now) && n.Release == upgrade.Release() {
			return n.Owner == l.owner
		}
	}
	return true
}
