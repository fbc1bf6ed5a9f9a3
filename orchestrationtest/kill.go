package orchestrationtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/provider/faulty"
)

// KillOption is an option of [Env.Kill] and [Node.Kill].
type KillOption interface {
	applyKill(o *killOptions) error
}

type killOptions struct {
	at faulty.Kind // of the next commit; 0: now
}

type killFunc func(o *killOptions) error

func (f killFunc) applyKill(o *killOptions) error { return f(o) }

// BeforeCommit lets a node die when it is about to store its next turn: the turn is lost.
func BeforeCommit() KillOption {
	return killFunc(func(o *killOptions) error {
		o.at = faulty.Before
		return nil
	})
}

// AfterCommit lets a node die when it has stored its next turn, and does not know that yet.
func AfterCommit() KillOption {
	return killFunc(func(o *killOptions) error {
		o.at = faulty.After
		return nil
	})
}

// Kill kills all nodes, as a crash of their process does, and starts others in their place: at once, or in the middle of the next turn that each
// of them stores. Nothing that a dead node does reaches the store. What it had in hand goes to another node when its leases expire: after
// runtime.Options.Lease, which is a day in a test unless [WithRuntime] sets it, and 30 s in real time.
//
// No goroutine can be stopped from outside. So activities of a dead node run until they return, with a context that has ended, and their [Call]
// is Lost. Deferred functions of its orchestration code run, as they do when an instance leaves the cache of a node. An activity that does not
// return fails the test at its end.
//
// It fails the test if no node can start.
func (e *Env) Kill(opts ...KillOption) {
	e.t.Helper()
	e.kill(e.nodes.all(), true, opts)
}

// Kill kills the node as [Env.Kill] does, and starts no other: [Env.Restart] does.
func (n *Node) Kill(opts ...KillOption) {
	n.env.t.Helper()
	n.env.kill([]*release{n.release}, false, opts)
}

func (e *Env) kill(all []*release, again bool, opts []KillOption) {
	e.t.Helper()
	e.touch()
	var o killOptions
	err := bind.Apply(opts, func(opt KillOption) error { return opt.applyKill(&o) })
	if err == nil {
		err = e.nodes.begin(e.ctx)
	}
	for _, r := range all {
		if err != nil {
			break
		}
		if o.at == 0 {
			err = e.nodes.kill(e.ctx, r, again)
			continue
		}
		e.nodes.arm(r, o.at, func() {
			if err := e.nodes.kill(e.ctx, r, again); err != nil {
				e.outcome.fail(fmt.Sprintf("killing a node: %v", err))
			}
		})
	}
	if err != nil {
		e.fatal(fmt.Sprintf("killing a node: %v", err))
	}
}

// arm lets the node of a release die at its next commit. Then it calls struck, on a goroutine of its own.
func (n *nodes) arm(r *release, at faulty.Kind, struck func()) {
	n.mu.Lock()
	one := r.current
	n.mu.Unlock()
	if one == nil {
		return
	}
	var dead atomic.Bool
	var once sync.Once
	one.plan.Add(faulty.Rule{Kind: faulty.Before, Match: func(any) bool { return dead.Load() }})
	one.plan.Add(faulty.Rule{Kind: at, Ops: []faulty.Op{faulty.CommitTurn}, First: 1, Match: func(any) bool {
		dead.Store(true)
		once.Do(func() { n.dying.Go(struck) })
		return true
	}})
}

// kill kills the nodes of a release, and starts another one if it is asked to.
func (n *nodes) kill(ctx context.Context, r *release, again bool) error {
	return n.alone(func() error {
		killed := false
		for _, one := range n.started() {
			if one.release == r {
				n.die(one) //nolint:contextcheck // a dead node waits for nobody
				killed = true
			}
		}
		n.mu.Lock()
		r.current = nil
		n.mu.Unlock()
		if !killed || !again {
			return nil
		}
		return n.start(ctx, r)
	})
}

// die cuts a node off from its store. Its code ends in the background.
func (n *nodes) die(one *node) {
	one.plan.Disconnect()
	n.mu.Lock()
	n.dead[one.rt.Owner()] = true
	n.running = slices.DeleteFunc(n.running, func(other *node) bool { return other == one })
	n.mu.Unlock()
	n.dying.Go(func() {
		over, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // a dead node waits for nobody
		cancel()
		_ = one.rt.Shutdown(over) // it cannot release its leases
	})
}

// lost reports whether a node was killed.
func (n *nodes) lost(owner string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead[owner]
}
