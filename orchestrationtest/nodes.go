package orchestrationtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

const (
	// patience is how long, in virtual time, the end of a run waits for code that has not returned.
	patience = 10 * 365 * 24 * time.Hour
	// restarting bounds the end of a node that Restart replaces, in virtual time.
	restarting = time.Minute
)

// nodes are the nodes of a run. The last one takes work; those before it finish theirs.
type nodes struct {
	store    *store
	registry *runtime.Registry
	client   *client.Client // by which it drains nodes
	options  runtime.Options
	changing chan struct{} // has one place; a mutex would stop the clock of the bubble

	mu       sync.Mutex // guards the fields below, for moments only
	settings bubble.Settings
	running  []*runtime.Runtime
	known    map[provider.Capability]bool
	served   map[bubble.Name]bool
}

// newNodes returns the nodes of a store, none of which has started. With timers they wait as in production.
func newNodes(s *store, reg *runtime.Registry, c *client.Client, logger *slog.Logger, timers bool) *nodes {
	n := &nodes{
		store: s, registry: reg, client: c, changing: make(chan struct{}, 1),
		known: make(map[provider.Capability]bool), served: make(map[bubble.Name]bool),
		options: runtime.Options{
			Name: "test", Logger: logger,
			DeadlockLimit: runtime.Off, // the clock stands still while code runs
			Leaks:         runtime.LeakOptions{MaxInterruptInterval: runtime.Off, MaxInstances: runtime.Off},
			Shutdown:      runtime.ShutdownOptions{WatchdogTimeout: patience},
		},
	}
	if !timers {
		n.settings.Changes = s.changes
		n.options.Lease = provider.MaxLease // a third of it passes between renewals
		n.options.Cache.Idle = runtime.Off
	}
	return n
}

// current returns the settings of a node that would start now.
func (n *nodes) current() *bubble.Settings {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.settings
	s.Registered = n.register
	return &s
}

// register notes what a node can run.
func (n *nodes) register(orchestrations []provider.Capability, activities []bubble.Name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, o := range orchestrations {
		n.known[o] = true
	}
	for _, a := range activities {
		n.served[a] = true
	}
}

// runs reports whether a node can run an orchestration.
func (n *nodes) runs(of provider.Capability) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[of]
}

// serves reports whether a node can run an activity.
func (n *nodes) serves(name bubble.Name) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.served[name]
}

// alone lets one goroutine at a time start and stop nodes.
func (n *nodes) alone(do func() error) error {
	n.changing <- struct{}{}
	defer func() { <-n.changing }()
	return do()
}

func (n *nodes) started() []*runtime.Runtime {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.running)
}

// begin starts the first node.
func (n *nodes) begin(ctx context.Context) error {
	if len(n.started()) > 0 {
		return nil
	}
	return n.alone(func() error {
		if len(n.started()) > 0 {
			return nil
		}
		return n.start(ctx)
	})
}

// start starts a node. Only one goroutine at a time may call it.
func (n *nodes) start(ctx context.Context) error {
	rt, err := runtime.Start(bubble.With(ctx, n.current()), n.store, n.registry, n.options)
	if err != nil {
		return fmt.Errorf("starting a node: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = append(n.running, rt)
	return nil
}

// change changes what nodes can run. If one runs, another one takes its place, and the first one finishes what it has begun.
func (n *nodes) change(ctx context.Context, edit func(s *bubble.Settings)) error {
	return n.alone(func() error {
		n.mu.Lock()
		n.settings.Orchestrations, n.settings.Activities = slices.Clone(n.settings.Orchestrations), slices.Clone(n.settings.Activities)
		edit(&n.settings)
		n.mu.Unlock()
		before := n.started()
		if len(before) == 0 {
			return nil
		}
		if err := n.start(ctx); err != nil {
			return err
		}
		_, err := operate.New(n.client).DrainNode(ctx, before[len(before)-1].Owner(), "another node has what was registered since")
		return err
	})
}

// restart shuts all nodes down and starts one.
func (n *nodes) restart(ctx context.Context) error {
	return n.alone(func() error {
		ending, cancel := context.WithTimeout(ctx, restarting)
		defer cancel()
		if err := n.shutDown(ending); err != nil && !errors.Is(err, runtime.ErrLeaked) { // the code of a process that ends is gone
			return err
		}
		return n.start(ctx)
	})
}

// stop shuts all nodes down.
func (n *nodes) stop(ctx context.Context) error {
	return n.alone(func() error { return n.shutDown(ctx) })
}

func (n *nodes) shutDown(ctx context.Context) error {
	running := n.started()
	all := make([]error, 0, len(running))
	for _, rt := range running {
		all = append(all, rt.Shutdown(ctx))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = nil
	return errors.Join(all...)
}

// names returns the names of the nodes that run.
func (n *nodes) names() map[string]bool {
	all := make(map[string]bool)
	for _, rt := range n.started() {
		all[rt.Owner()] = true
	}
	return all
}
