package dispatcher

import (
	"cmp"
	"context"
	"runtime/debug"
	"sync/atomic"

	"github.com/perdure/perdure/internal/upgrade"
)

// drain is a drain in progress, or one that is done.
type drain struct {
	cancel context.CancelFunc // ends the wait for running work
	ended  chan struct{}      // closed when nothing waits any more
	done   atomic.Bool        // nothing runs on the node
}

// Drain makes the node take no new work, as the first phases of Shutdown do. Running work goes on to its end. Results go to the store, and
// nodes that take work continue from there. When nothing runs any more, the node is drained and calls Config.OnDrained. A node that
// drains already, or shuts down, is left alone. Drain does not wait.
func (d *Dispatcher) Drain() {
	f := &d.fetching
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || f.drain != nil {
		return
	}
	d.node.Draining.Store(true)
	f.stop()
	waiting, cancel := context.WithCancel(d.node.Working)
	one := &drain{cancel: cancel, ended: make(chan struct{})}
	f.drain = one
	d.node.Config.Logger.Info("the node drains: it takes no new work", "owner", d.node.Config.Owner)
	d.loops.Go(func() {
		defer close(one.ended)
		d.releaseUnstarted(d.node.Working) //nolint:contextcheck // of the node, not of this wait
		if d.node.Work.Wait(waiting) && waiting.Err() == nil {
			one.done.Store(true)
			d.drained()
		}
	})
}

// Undrain makes a node that drains, or is drained, take work again. Any other node is left alone.
func (d *Dispatcher) Undrain() {
	f := &d.fetching
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || f.drain == nil {
		return
	}
	f.drain.cancel()
	<-f.drain.ended
	f.drain = nil
	d.turns.HoldClaims()
	d.node.Draining.Store(false)
	d.fetch()
	d.node.Config.Logger.Info("the node takes work again", "owner", d.node.Config.Owner)
}

// drained tells the embedding service.
func (d *Dispatcher) drained() {
	d.node.Config.Logger.Info("the node is drained: nothing runs on it", "owner", d.node.Config.Owner)
	if d.node.Config.OnDrained == nil {
		return
	}
	go func() { // it may call Shutdown, which waits for the loops
		defer func() {
			if p := recover(); p != nil {
				d.node.Config.Logger.Error("OnDrained panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		d.node.Config.OnDrained()
	}()
}

// State reports whether the node drains or is drained.
func (d *Dispatcher) State() upgrade.State {
	d.fetching.mu.Lock()
	defer d.fetching.mu.Unlock()
	switch one := d.fetching.drain; {
	case one == nil:
		return upgrade.Running
	case one.done.Load():
		return upgrade.Drained
	default:
		return upgrade.Draining
	}
}

// PauseQueues replaces the set of queues of which the node begins nothing.
func (d *Dispatcher) PauseQueues(paused map[string]bool) { d.worker.PauseQueues(paused) }

// ServeAgain implements [Controls].
func (d *Dispatcher) ServeAgain() { d.worker.ServeAgain() }

// maxLoadQueues bounds the queues of which a load has figures.
const maxLoadQueues = 100

// maxLoadFull bounds the activities that a load lists as full.
const maxLoadFull = 100

// Load returns what runs on the node now.
func (d *Dispatcher) Load() upgrade.Load {
	c := &d.node.Config
	l := upgrade.Load{
		Turns: int(d.node.Count.TurnsRunning.Load()), TurnSlots: c.MaxTurns, ActivitySlots: c.MaxActivities,
	}
	for _, a := range d.node.Manage.Running() {
		l.Activities++
		if l.Queues == nil {
			l.Queues = make(map[string]int)
		}
		if _, known := l.Queues[a.Queue]; known || len(l.Queues) < maxLoadQueues {
			l.Queues[a.Queue]++
		}
	}
	l.Sessions, l.SessionSlots = d.node.Manage.Sessions(), cmp.Or(c.Sessions.Max, -1)
	l.Full = d.worker.Full(maxLoadFull)
	return l
}
