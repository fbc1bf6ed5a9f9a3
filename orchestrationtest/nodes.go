package orchestrationtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/upgrade"
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
	options  runtime.Options
	changing chan struct{} // has one place; a mutex would stop the clock of the bubble

	mu       sync.Mutex // guards the fields below, for moments only
	settings bubble.Settings
	running  []*node
	known    map[provider.Capability]uintptr // the code of each
	served   map[bubble.Name]bool
}

// node is a node of a run.
type node struct {
	rt      *runtime.Runtime
	leaving bool // another one has taken its place: it ends when nothing runs on it
}

// newNodes returns the nodes of a store, none of which has started. With timers they wait as in production.
func newNodes(s *store, reg *runtime.Registry, logger *slog.Logger, timers bool) *nodes {
	n := &nodes{
		store: s, registry: reg, changing: make(chan struct{}, 1),
		known: make(map[provider.Capability]uintptr), served: make(map[bubble.Name]bool),
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
	return &s
}

// register notes what a node can run.
func (n *nodes) register(orchestrations []bubble.Orchestration, activities []bubble.Name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range orchestrations {
		n.known[orchestrations[i].Capability] = orchestrations[i].Code
	}
	for _, a := range activities {
		n.served[a] = true
	}
}

// runs reports whether a node can run an orchestration.
func (n *nodes) runs(of provider.Capability) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.known[of]
	return ok
}

// substitute returns what replaces all versions of an orchestration, and false if nothing does.
func (n *nodes) substitute(name string) (bubble.Orchestration, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, o := range slices.Backward(n.settings.Orchestrations) {
		if !o.Absent && o.Every && o.Name == name {
			return o, true
		}
	}
	return bubble.Orchestration{}, false
}

// check refuses code that a node knows as another function, unless a substitute runs in its place.
func (n *nodes) check(of provider.Capability, code uintptr) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.settings.Orchestrations {
		o := &n.settings.Orchestrations[i]
		if !o.Absent && o.Name == of.Name && (o.Every || o.CodeVersion == of.CodeVersion) {
			return nil
		}
	}
	if known, ok := n.known[of]; ok && known != code {
		return fmt.Errorf("%s is another function already: give one of them another name with Define", check.Quote(of.Name))
	}
	return nil
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

func (n *nodes) started() []*node {
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
	settings := n.current()
	settings.Registered = n.register
	one := &node{}
	options := n.options
	options.OnDrained = func() { n.drained(one) }
	rt, err := runtime.Start(bubble.With(ctx, settings), n.store, n.registry, options)
	if err != nil {
		return fmt.Errorf("starting a node: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	one.rt = rt
	n.running = append(n.running, one)
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
		return n.drain(ctx, before[len(before)-1])
	})
}

// drain lets a node take no more work, and returns when it obeys. No virtual time passes, as would with the timer of operate.DrainNode.
func (n *nodes) drain(ctx context.Context, one *node) error {
	n.mu.Lock()
	one.leaving = true
	n.mu.Unlock()
	owner := one.rt.Owner()
	by := control.Order{Reason: "another node has what was registered since"}
	orders, err := control.Change(ctx, n.store, func(o *control.Orders) {
		o.Drain(owner, by, func(of string) bool { return n.names()[of] })
	})
	for err == nil {
		changed := n.store.changes.Next()
		var all []upgrade.Node
		if all, _, err = upgrade.Nodes(ctx, n.store); err != nil {
			break
		}
		if !slices.ContainsFunc(all, func(o upgrade.Node) bool { return o.Owner == owner && o.Seen < orders.Version }) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return fmt.Errorf("draining a node: %w", err)
}

// drained ends a node whose place another one has taken. A node that the test has drained stays, and says so in its record.
func (n *nodes) drained(one *node) {
	n.mu.Lock()
	leaving := one.leaving
	n.mu.Unlock()
	if !leaving {
		n.store.changes.Notify()
		return
	}
	if err := one.rt.Shutdown(context.Background()); err != nil { //nolint:forbidigo // the node ends however the run does
		return // the end of the run returns it
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = slices.DeleteFunc(n.running, func(other *node) bool { return other == one })
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
	for _, one := range running {
		all = append(all, one.rt.Shutdown(ctx))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = nil
	return errors.Join(all...)
}

// names returns the names of the nodes that run.
func (n *nodes) names() map[string]bool {
	all := make(map[string]bool)
	for _, one := range n.started() {
		all[one.rt.Owner()] = true
	}
	return all
}
