package orchestrationtest

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/perdure/perdure/provider/faulty"
)

// armedKill lets a node of a release die at a commit: the first node that stores a turn, among those that run and those that start later.
type armedKill struct {
	at     faulty.Kind
	done   atomic.Bool     // a node has died by it
	struck func(one *node) // is called then, on a goroutine of its own
}

// prepare lets a node that is about to start die as its release is to. A dead node reaches the store no more.
func (n *nodes) prepare(one *node) {
	one.plan.Add(faulty.Rule{Kind: faulty.Before, Match: func(any) bool { return one.isDead() }})
	n.mu.Lock()
	kills := slices.Clone(one.release.kills)
	n.mu.Unlock()
	for _, k := range kills {
		n.add(one, k)
	}
}

// add lets a node die by a kill. Each kill lets one node die, and a node dies once.
func (n *nodes) add(one *node, k *armedKill) {
	one.plan.Add(faulty.Rule{Kind: k.at, Ops: []faulty.Op{faulty.CommitTurn}, Match: func(any) bool {
		if one.isDead() || !k.done.CompareAndSwap(false, true) {
			return false
		}
		close(one.died)
		n.dying.Go(func() { k.struck(one) })
		return true
	}})
}

// isDead reports whether the node has died in the middle of a commit.
func (n *node) isDead() bool {
	select {
	case <-n.died:
		return true
	default:
		return false
	}
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
	return n.dead[owner] || slices.ContainsFunc(n.running, func(one *node) bool { return one.rt.Owner() == owner && one.isDead() })
}
