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
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

const (
	// patience is how long, in virtual time, the end of a run waits for code that has not returned.
	patience = 10 * 365 * 24 * time.Hour
	// restarting bounds the end of a node that Restart replaces.
	restarting = time.Minute
)

// errEmpty means that a release has no code.
var errEmpty = errors.New("nothing is registered")

// nodes are the nodes of a run.
type nodes struct {
	store    *store
	options  runtime.Options
	changing chan struct{} // has one place; a mutex would stop the clock of the bubble

	mu       sync.Mutex // guards the fields below, those of releases and those of nodes, for moments only
	settings bubble.Settings
	releases []*release // the first one has the registry of the Env
	running  []*node
	dead     map[string]bool // owners of nodes that were killed
	dying    sync.WaitGroup  // what ends nodes that were killed
}

// node is a node of a run.
type node struct {
	rt      *runtime.Runtime
	release *release
	code    code
	plan    *faulty.Plan  // lets it die
	died    chan struct{} // closed when it has died in the middle of a commit; kill does the rest
	leaving bool          // another one has taken its place: it ends when nothing runs on it
}

// newNodes returns the nodes of a store, none of which has started. With timers they wait as in production.
func newNodes(store *store, reg *runtime.Registry, logger *slog.Logger, s *settings) *nodes {
	n := &nodes{
		store: store, changing: make(chan struct{}, 1), releases: []*release{{registry: reg}},
		dead:    make(map[string]bool),
		options: runtime.Options{Name: "test", Logger: logger, Leaks: runtime.LeakOptions{MaxInstances: runtime.Off}},
	}
	if !s.real() {
		n.options.DeadlockLimit = runtime.Off // the clock stands still while code runs
		n.options.Leaks.MaxInterruptInterval = runtime.Off
		n.options.Shutdown.WatchdogTimeout = patience
	}
	if s.timers {
		n.settings.Orders = store.changes // a node whose place another one has taken obeys at once
	} else {
		n.settings.Changes = store.changes
		n.options.Lease = provider.MaxLease // a third of it passes between renewals
		n.options.Cache.Idle = runtime.Off
	}
	return n
}

// none reports whether no node runs.
func (n *nodes) none() bool { return len(n.started()) == 0 }

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

// begin starts the first node, unless one runs or that has run.
func (n *nodes) begin(ctx context.Context) error {
	if !n.none() {
		return nil
	}
	return n.alone(func() error {
		if first := n.releases[0]; !n.none() || first.begun || first.stopped {
			return nil
		}
		return n.start(ctx, n.releases[0])
	})
}

// start starts a node of a release. Only one goroutine at a time may call it.
func (n *nodes) start(ctx context.Context, r *release) error {
	one := &node{release: r, code: code{r.registry, n.current()}, plan: faulty.NewPlan(0), died: make(chan struct{})}
	n.prepare(one)
	settings, empty := *one.code.settings, false
	settings.Registered = func(orchestrations []bubble.Orchestration, activities []bubble.Name) {
		empty = len(orchestrations)+len(activities) == 0
		n.register(r, orchestrations, activities)
	}
	settings.Fallbacks = func(f bubble.Fallbacks) {
		n.mu.Lock()
		defer n.mu.Unlock()
		r.others = f
	}
	options := n.options
	options.OnDrained = func() { n.drained(one, n.options.OnDrained) } //nolint:contextcheck // the node ends however the run does
	rt, err := runtime.Start(bubble.With(ctx, &settings), faulty.Wrap(&link{n.store, one}, one.plan), r.registry, options)
	switch {
	case err != nil && empty:
		return fmt.Errorf("starting a node: %w: %w", errEmpty, err)
	case err != nil:
		return fmt.Errorf("starting a node: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	one.rt, r.current, r.begun = rt, one, true
	n.running = append(n.running, one)
	return nil
}

// change changes what nodes can run. For each that runs another one takes its place, and the first one finishes what it has begun.
func (n *nodes) change(ctx context.Context, edit func(s *bubble.Settings)) error {
	return n.alone(func() error {
		n.mu.Lock()
		n.settings.Orchestrations, n.settings.Activities = slices.Clone(n.settings.Orchestrations), slices.Clone(n.settings.Activities)
		edit(&n.settings)
		releases := slices.Clone(n.releases)
		n.mu.Unlock()
		if n.none() {
			return nil
		}
		for _, r := range releases {
			before := r.current
			if r.stopped || before == nil && r.begun {
				continue
			}
			err := n.start(ctx, r)
			if err == nil && before != nil {
				err = n.drain(ctx, before)
			}
			if err != nil && !errors.Is(err, errEmpty) {
				return err
			}
		}
		return nil
	})
}

// drain lets a node take no more work, and returns when it obeys or is dead. No virtual time passes, as would with the timer of operate.DrainNode.
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
		case <-one.died: // it takes no work, and cannot say so
			return nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return fmt.Errorf("draining a node: %w", err)
}

// drained ends a node whose place another one has taken. A node that the test has drained stays, and says so in its record. Then the test learns
// it, too; nil: it does not want to.
func (n *nodes) drained(one *node, tell func()) {
	n.mu.Lock()
	leaving := one.leaving
	n.mu.Unlock()
	if !leaving {
		n.store.changes.Notify()
		if tell != nil {
			tell()
		}
		return
	}
	if err := one.rt.Shutdown(context.Background()); err != nil { //nolint:forbidigo // the node ends however the run does
		return // the end of the run returns it
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = slices.DeleteFunc(n.running, func(other *node) bool { return other == one })
}

// deploy starts a node of another release.
func (n *nodes) deploy(ctx context.Context, reg *runtime.Registry) (*release, error) {
	r := &release{registry: reg}
	return r, n.alone(func() error {
		first := n.releases[0]
		if !first.begun && !first.stopped {
			if err := n.start(ctx, first); err != nil && !errors.Is(err, errEmpty) {
				return err
			}
		}
		n.mu.Lock()
		n.releases = append(n.releases, r) // before its node stores a turn that needs what only this release has
		n.mu.Unlock()
		err := n.start(ctx, r)
		if err != nil {
			n.mu.Lock()
			n.releases = slices.DeleteFunc(n.releases, func(other *release) bool { return other == r })
			n.mu.Unlock()
		}
		return err
	})
}

// retire shuts down all nodes of a release, for good.
func (n *nodes) retire(ctx context.Context, r *release) error {
	return n.alone(func() error {
		n.mu.Lock()
		r.stopped, r.current = true, nil
		n.mu.Unlock()
		return n.shutDown(ctx, func(one *node) bool { return one.release == r })
	})
}

// restart shuts all nodes down and starts one of each release that had one.
func (n *nodes) restart(ctx context.Context) error {
	return n.alone(func() error {
		if err := n.shutDown(ctx, func(*node) bool { return true }); err != nil {
			return err
		}
		return n.startAgain(ctx)
	})
}

// startAgain starts a node of each release that was not stopped for good.
func (n *nodes) startAgain(ctx context.Context) error {
	releases := n.all()
	for _, r := range releases {
		if r.stopped {
			continue
		}
		if err := n.start(ctx, r); err != nil && (len(releases) == 1 || !errors.Is(err, errEmpty)) {
			return err
		}
	}
	return nil
}

// shutDown ends those nodes whose code goes, as a process does that ends: what has not returned is gone.
func (n *nodes) shutDown(ctx context.Context, goes func(one *node) bool) error {
	ending, cancel := context.WithTimeout(ctx, restarting)
	defer cancel()
	if err := n.end(ending, goes); err != nil && !errors.Is(err, runtime.ErrLeaked) {
		return err
	}
	return nil
}

// stop shuts all nodes down.
func (n *nodes) stop(ctx context.Context) error {
	defer n.dying.Wait()
	return n.alone(func() error { return n.end(ctx, func(*node) bool { return true }) })
}

func (n *nodes) end(ctx context.Context, goes func(one *node) bool) error {
	var all []error
	for _, one := range n.started() {
		if !goes(one) {
			continue
		}
		var err error
		if !one.isDead() {
			err = one.rt.Shutdown(ctx)
		}
		if one.isDead() { // since it began to shut down, perhaps
			n.die(one) //nolint:contextcheck // a dead node waits for nobody
			continue
		}
		all = append(all, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = slices.DeleteFunc(n.running, goes)
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
