// Package core holds what the parts of a node share: its settings, counters, slots, clock and store. It belongs to the part "node" of
// ARCHITECTURE.md, not to its core, which is pure.
package core

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
	"github.com/perdure/perdure/internal/observing"
)

// Node holds what the parts of a node share. Each part embeds it.
type Node struct {
	Config   Config
	Watch    *observing.Hub // nil: nobody observes
	Store    *storage.Store
	Clock    *storetime.Clock // of store
	Count    Counters
	Tasks    *flow.Slots // of attempts
	Suspects *suspect.List
	Manage   *manage.Manager
	Watchdog *leak.Watchdog
	Fetchers inflight.Count // fetch loops
	Work     inflight.Count // turns, attempts and executions that are unwound
	Stopping atomic.Bool    // for good
	Draining atomic.Bool    // until an operator undoes it

	Working context.Context //nolint:containedctx // of all work until the node has stopped
}

// New makes a node whose work ends with the context. The caller sets the watchdog.
func New(working context.Context, cfg Config) *Node {
	if cfg.Off.Has(fastpath.Cache) {
		cfg.CacheCount = 0
	}
	if cfg.Off.Has(fastpath.Local) {
		cfg.LocalTime = 0
	}
	store := storage.New(cfg.Provider, cfg.Lease, cfg.Logger, cfg.Watch)
	return &Node{
		Config: cfg, Watch: cfg.Watch, Store: store, Clock: &store.Clock, Tasks: flow.NewSlots(max(cfg.MaxActivities, 1)), Suspects: suspect.NewList(),
		Manage: manage.New(store, manage.Options{Owner: cfg.Owner, Lease: cfg.Lease, Sessions: cfg.Sessions}), Working: working,
	}
}

// Accepting reports whether the node takes new work: it neither stops nor drains.
func (n *Node) Accepting() bool { return !n.Stopping.Load() && !n.Draining.Load() }

// Fetch runs a function that brings in work. Shutdown waits for it first.
func (n *Node) Fetch(loop func()) {
	n.Fetchers.Add()
	go func() {
		defer n.Fetchers.Done()
		loop()
	}()
}
