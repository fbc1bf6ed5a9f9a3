package dispatcher

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// stickyTime is how long after a commit only this node fetches the instance, whose execution it has in memory: results, events and timers
// that others bring about come here, where they need no replay. It bounds what such a message waits at most for a node that is alive
// and does not come to it.
const stickyTime = 5 * time.Second

// stickyFor is shorter where leases are: a node that died must not hold up its instances for longer than its work.
func (d *Dispatcher) stickyFor() time.Duration { return min(stickyTime, d.cfg.Lease) }

// freeTimeout bounds the call that frees instances; if it fails they are free after the sticky time.
const freeTimeout = time.Second

// stick keeps the instance for this node if the commit leaves a cached execution. While turns wait here for a slot, others may have it.
func (d *Dispatcher) stick(t *translation, a *actor, x *replay.Execution, turn replay.Turn) {
	if d.cfg.CacheCount == 0 || x.Size() > d.cfg.CacheBytes || turn.End != nil || d.stopping.Load() || d.turns.Wanted() {
		return
	}
	t.req.Owner, t.req.Sticky = d.cfg.Owner, d.stickyFor()
	d.actors.sticks(a) // whatever becomes of the commit
}

// sticks notes that the instance may be kept for this node from now on.
func (as *actors) sticks(a *actor) {
	as.mu.Lock()
	a.stuck = time.Now().Add(stickyTime)
	as.mu.Unlock()
}

// unstick tells whether the instance may still be kept for this node, and forgets it.
func (as *actors) unstick(a *actor) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	return a.unstick()
}

// unstickAll lists the instances that may still be kept for this node, and forgets it.
func (as *actors) unstickAll() (keys []provider.UUID) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for key, a := range as.byKey {
		if a.unstick() {
			keys = append(keys, key)
		}
	}
	return keys
}

// takeLoose answers instances that were evicted while they may be kept for this node.
func (as *actors) takeLoose() (keys []provider.UUID) {
	as.mu.Lock()
	defer as.mu.Unlock()
	keys, as.loose = as.loose, nil
	return keys
}

// unstick needs actors.mu.
func (a *actor) unstick() bool {
	stuck := time.Now().Before(a.stuck)
	a.stuck = time.Time{}
	return stuck
}

// freeing gathers instances that are not kept for this node any more: one call at a time lets all of them go.
type freeing struct {
	mu   sync.Mutex
	keys []provider.UUID
	busy bool
}

// letGo lets other nodes fetch what this one does not keep in memory any more.
func (d *Dispatcher) letGo(working context.Context, keys ...provider.UUID) {
	f := &d.freeing
	f.mu.Lock()
	f.keys = append(f.keys, keys...)
	start := !f.busy && len(f.keys) > 0
	f.busy = f.busy || start
	f.mu.Unlock()
	if start {
		d.work.Add()
		go d.freeAll(working)
	}
}

// letGoOf lets one instance go, unless it is surely not kept any more.
func (d *Dispatcher) letGoOf(working context.Context, a *actor) {
	if d.actors.unstick(a) {
		d.letGo(working, a.key)
	}
}

func (d *Dispatcher) freeAll(working context.Context) {
	defer d.work.Done()
	for {
		batch := d.freeing.next()
		if len(batch) == 0 {
			return
		}
		req := provider.ReleaseTurnsRequest{}
		for _, key := range batch {
			req.Items = append(req.Items, provider.TurnRelease{Key: key, Owner: d.cfg.Owner})
		}
		ctx, cancel := context.WithTimeout(working, freeTimeout)
		_, err := d.store.ReleaseTurns(ctx, req)
		cancel()
		if err != nil && working.Err() == nil {
			d.store.Failed("free instances", 1, err)
		}
	}
}

// next takes a batch; with none the sender ends.
func (f *freeing) next() (batch []provider.UUID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.keys), provider.MaxBatch)
	batch, f.keys = f.keys[:n:n], f.keys[n:]
	f.busy = n > 0
	return batch
}
