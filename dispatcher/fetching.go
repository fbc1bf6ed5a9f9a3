package dispatcher

import (
	"context"
	"sync"
	"sync/atomic"
)

// fetching is what brings in work, and the drain that has ended it.
type fetching struct {
	mu    sync.Mutex
	stop  context.CancelFunc // ends the loops
	over  bool               // the node shuts down: there is no way back
	drain *drain             // nil: the node takes work
	ended atomic.Bool        // a loop has ended by itself
}

// end ends the loops for good.
func (f *fetching) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.stop()
	if f.drain != nil {
		f.drain.cancel()
	}
}

// fetch starts the loops that bring in work.
func (d *Dispatcher) fetch() {
	fetching, stop := context.WithCancel(d.node.Working)
	run := func(loop func(fetching, working context.Context)) {
		d.node.Fetch(func() {
			if loop(fetching, d.node.Working); fetching.Err() == nil {
				d.fetching.ended.Store(true)
			}
		})
	}
	d.fetching.stop = stop
	if len(d.node.Config.Orchestrations) > 0 {
		run(d.turns.Loop)
		d.node.Fetch(func() { d.queries.Loop(fetching, d.node.Working) })
	}
	d.node.Fetch(func() { d.worker.EndLate(fetching, d.node.Working) })
	if len(d.node.Config.Activities) > 0 {
		run(d.worker.Loop)
	}
}

// releaseUnstarted waits until nothing more is fetched and leaves to other nodes what has not begun here: claims ahead and pinned instances.
func (d *Dispatcher) releaseUnstarted(ctx context.Context) {
	fetched, done := context.WithTimeout(ctx, handBackTimeout)
	defer done()
	d.node.Fetchers.Wait(fetched)
	d.turns.ReleaseClaims(fetched)
	d.turns.UnpinAll(ctx) // messages that arrive now are for other nodes
}
