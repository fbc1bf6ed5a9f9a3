package orchestrationtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
// return fails the test at its end; in real time it does not.
//
// If another node takes the place of one before that has stored a turn, for example because something is registered, the other one dies. The test
// fails at its end if no turn was stored in which a node could die.
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
	var kills []*armedKill
	for _, r := range all {
		if err != nil {
			break
		}
		if o.at == 0 {
			err = e.nodes.kill(e.ctx, r, again)
			continue
		}
		k := &armedKill{at: o.at, struck: func(one *node) {
			if err := e.nodes.killStruck(e.ctx, one, again); err != nil {
				e.outcome.fail(fmt.Sprintf("killing a node: %v", err))
			}
		}}
		kills = append(kills, k)
		err = e.nodes.arm(r, k)
	}
	if err != nil {
		e.fatal(fmt.Sprintf("killing a node: %v", err))
	}
	if o.at != 0 {
		e.expect(func() error {
			if slices.ContainsFunc(kills, func(k *armedKill) bool { return k.done.Load() }) {
				return nil
			}
			return errors.New("killing a node in the middle of a commit: no turn was stored since: call Kill before what the node is to store")
		})
	}
}

// arm lets the nodes of a release die at the next commit of one of them.
func (n *nodes) arm(r *release, k *armedKill) error {
	return n.alone(func() error {
		n.mu.Lock()
		r.kills = append(r.kills, k)
		n.mu.Unlock()
		for _, one := range n.started() {
			if one.release == r {
				n.add(one, k)
			}
		}
		return nil
	})
}

// kill kills the nodes of a release, and starts another one if it is asked to.
func (n *nodes) kill(ctx context.Context, r *release, again bool) error {
	return n.alone(func() error { return n.killNow(ctx, r, again) })
}

// killStruck is kill for the release of a node that has died in the middle of a commit. It does nothing if that was shut down meanwhile.
func (n *nodes) killStruck(ctx context.Context, one *node, again bool) error {
	return n.alone(func() error {
		if !slices.Contains(n.started(), one) {
			return nil
		}
		return n.killNow(ctx, one.release, again)
	})
}

// killNow is kill. Only one goroutine at a time may call it.
func (n *nodes) killNow(ctx context.Context, r *release, again bool) error {
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
}
