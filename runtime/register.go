package runtime

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/internal/waiting"
	"github.com/perdure/perdure/provider"
)

// register reads the level of the store and the orders to its nodes, and lists the node there, before its first fetch. It sets what keeps all
// three up to date as long as the node runs. A fault that may pass is left to that: until then the node uses the level that every node knows,
// and begins no activity, because its queues may be paused.
func register(ctx context.Context, cfg *dispatcher.Config, own int64) error {
	store := provider.FullOf(cfg.Provider)
	cfg.Level = upgrade.New(store, own)
	if err := openLevel(ctx, cfg.Level); err != nil && !provider.Retryable(err) {
		return err
	}
	watch, err := control.NewWatch(ctx, store, cfg.Owner, cfg.Logger)
	if err != nil {
		return err
	}
	var queues []string
	for _, q := range cfg.Queues() {
		if q.Queue != reserved.Queue {
			queues = append(queues, q.Queue)
		}
	}
	cfg.Paused = watch.Paused(append(queues, cfg.Fallbacks.Queues()...))
	if cfg.Bubble.RecordChanges() != nil { // nothing of a test runs by a timer
		cfg.Figures = nil
	}
	m, err := upgrade.Join(ctx, cfg.Level, cfg.Owner, cfg.Capabilities(), cfg.Logger, func(n *upgrade.Node) {
		watch.Describe(n)
		if cfg.Figures != nil {
			n.Counts = new(upgrade.Counts)
		}
		n.Queues, n.Cut = served(cfg)
		if cfg.Fallbacks != nil {
			n.Fallbacks = &upgrade.Fallbacks{Patterns: cfg.Fallbacks.Patterns()}
		}
	})
	if err != nil && !provider.Retryable(err) {
		return err
	}
	owner, logger, fallbacks, registered := cfg.Owner, cfg.Logger, cfg.Fallbacks, len(cfg.Orchestrations)
	limits, err := newLimits(store, owner, logger)
	if err != nil {
		return err
	}
	if changes := cfg.Bubble.RecordChanges(); changes != nil { // nothing of a test runs by a timer, and its kit says what waits
		cfg.Background = func(working context.Context, node dispatcher.Controls) {
			var both sync.WaitGroup
			both.Go(func() { watch.Follow(working, node, m, changes.Next, false) })
			both.Go(func() { limits.follow(working, changes) })
			m.Stay(working)
			both.Wait()
		}
		return nil
	}
	cfg.Background = func(working context.Context, node dispatcher.Controls) {
		var both sync.WaitGroup
		if cfg.Figures != nil {
			w := figures.NewWriter(store, cfg.Figures, owner, cfg.Capabilities(), node.StorageTime, logger)
			watch.Counts(w.Counted)
			both.Go(func() { w.Run(working) })
		}
		m.OnDead(func(ctx context.Context, n *upgrade.Node) error {
			return figures.NoteLost(ctx, store, n)
		})
		both.Go(func() {
			if changes := cfg.Bubble.OrderChanges(); changes != nil {
				watch.Follow(working, node, m, changes.Next, true)
				return
			}
			watch.Run(working, node, m)
		})
		both.Go(func() { waiting.Watch(working, store, owner, cfg.Figures, logger) })
		if fallbacks != nil {
			both.Go(func() {
				fallbacks.Follow(working, fallback.Node{
					Store: store, Level: own, Registered: registered, Report: reportFallbacks(fallbacks, m), Changed: node.ServeAgain, Logger: logger,
				})
			})
		}
		both.Go(func() { limits.run(working) })
		m.Run(working)
		both.Wait()
	}
	return nil
}

// reportFallbacks returns what writes the names that fallbacks take into the record of the node.
func reportFallbacks(s *fallback.Set, m *upgrade.Membership) func(ctx context.Context, t *fallback.Taken) error {
	return func(ctx context.Context, t *fallback.Taken) error {
		f := upgrade.Fallbacks{Patterns: s.Patterns()}
		for _, of := range t.Capabilities() {
			f.Orchestrations = append(f.Orchestrations, upgrade.Orchestration{Name: of.Name, Version: of.CodeVersion})
		}
		for _, q := range t.Queues() {
			f.Queues = append(f.Queues, upgrade.Queue{Name: q.Queue, Activities: q.Names})
		}
		_, err := m.Report(ctx, func(n *upgrade.Node) { n.Fallbacks = &f })
		return err
	}
}

// levelTries is how often a node tries to read the level when it starts: for 1.5 s.
const levelTries = 5

// openLevel reads the level of the store, or writes that of a new one. A fault of a moment must not decide about the level: an instance that
// the node begins makes the store one with data, whose level nobody but an operator raises.
func openLevel(ctx context.Context, l *upgrade.Level) (err error) {
	pause := 100 * time.Millisecond
	for try := 1; ; try++ {
		if err = l.Open(ctx); err == nil || !provider.Retryable(err) || try == levelTries {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause *= 2
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// served returns the queues of a node with their activities, at most upgrade.MaxListed names in all. cut reports that there are more.
func served(cfg *dispatcher.Config) (queues []upgrade.Queue, cut bool) {
	all, room := cfg.Queues(), upgrade.MaxListed
	slices.SortFunc(all, func(a, b provider.QueueFilter) int { return strings.Compare(a.Queue, b.Queue) })
	for i := range all {
		if all[i].Queue == reserved.Queue {
			continue // perdure's own, which every node serves
		}
		if room <= 0 {
			return queues, true
		}
		names := all[i].Names
		slices.Sort(names)
		cut = cut || len(names) > room
		queues = append(queues, upgrade.Queue{
			Name: all[i].Queue, Activities: names[:min(len(names), room)],
			MaxConcurrent: all[i].MaxLeased, PerSecond: cfg.QueueLimits[all[i].Queue].PerSecond,
		})
		room -= len(names)
	}
	for _, name := range cfg.Fallbacks.Queues() {
		if !slices.ContainsFunc(queues, func(q upgrade.Queue) bool { return q.Name == name }) {
			queues = append(queues, upgrade.Queue{Name: name, PerSecond: cfg.QueueLimits[name].PerSecond, MaxConcurrent: cfg.QueueLimits[name].MaxConcurrent})
		}
	}
	return queues, cut
}
