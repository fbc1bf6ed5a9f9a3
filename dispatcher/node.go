package dispatcher

import (
	"context"
	"sync/atomic"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/inflight"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/storetime"
	"github.com/perdure/perdure/dispatcher/internal/suspect"
	"github.com/perdure/perdure/internal/fastpath"
)

// node is what the parts of a node share. Each part embeds it.
type node struct {
	cfg      Config
	store    *storage.Store
	clock    *storetime.Clock // of store
	count    counters
	tasks    *flow.Slots // of attempts
	suspects *suspect.List
	manage   *manage.Manager
	watchdog *leak.Watchdog
	fetchers inflight.Count // fetch loops
	work     inflight.Count // turns, attempts and closing executions
	stopping atomic.Bool

	working context.Context //nolint:containedctx // of all work until the node has stopped
}

// newNode makes a node whose work ends with the context. The caller sets the watchdog.
func newNode(working context.Context, cfg Config) *node {
	if cfg.Off.Has(fastpath.Cache) {
		cfg.CacheCount = 0
	}
	if cfg.Off.Has(fastpath.Local) {
		cfg.LocalTime = 0
	}
	store := storage.New(cfg.Provider, cfg.Lease, cfg.Logger)
	return &node{
		cfg: cfg, store: store, clock: &store.Clock, tasks: flow.NewSlots(max(cfg.MaxActivities, 1)), suspects: suspect.NewList(),
		manage: manage.New(store, manage.Options{Owner: cfg.Owner, Lease: cfg.Lease, Sessions: cfg.Sessions}), working: working,
	}
}

// fetch runs a loop, or a part of one, that brings work. Shutdown waits for it first.
func (n *node) fetch(loop func()) {
	n.fetchers.Add()
	go func() {
		defer n.fetchers.Done()
		loop()
	}()
}
