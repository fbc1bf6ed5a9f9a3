package turn

import (
	"time"

	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// stickyTime is how long after a commit only this node fetches the instance, whose execution it has in memory: results, events and timers
// that others bring about come here, where they need no replay. It bounds what such a message waits at most for a node that is alive
// and does not come to it.
const stickyTime = 5 * time.Second

// pinTime is shorter where leases are: a node that died must not hold up its instances for longer than its work.
func (tr *translator) pinTime() time.Duration { return min(stickyTime, tr.Config.Lease) }

// pin keeps the instance for this node if the commit leaves a cached execution. While turns wait here for a slot, others may have it.
func (tr *translator) pin(t *translation, a *actor, x *replay.Execution, turn replay.Turn) {
	if tr.Config.Off.Has(fastpath.Sticky) {
		return
	}
	if tr.Config.CacheCount == 0 || x.Size() > tr.Config.CacheBytes || turn.End != nil || tr.Stopping.Load() || tr.turnSlots.Wanted() {
		return
	}
	t.req.Owner, t.req.Sticky = tr.Config.Owner, tr.pinTime()
	tr.actors.notePin(a) // whatever becomes of the commit
}

// notePin notes that the instance may be kept for this node from now on.
func (as *actors) notePin(a *actor) {
	as.mu.Lock()
	a.pinned = time.Now().Add(stickyTime)
	as.mu.Unlock()
}

// forgetPin reports whether the instance may still be kept for this node, and forgets it.
func (as *actors) forgetPin(a *actor) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	return a.forgetPin()
}

// forgetPins lists the instances that may still be kept for this node, and forgets it.
func (as *actors) forgetPins() (keys []provider.UUID) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for key, a := range as.byKey {
		if a.forgetPin() {
			keys = append(keys, key)
		}
	}
	return keys
}

// takeToUnpin returns instances that were evicted while they may be kept for this node.
func (as *actors) takeToUnpin() (keys []provider.UUID) {
	as.mu.Lock()
	defer as.mu.Unlock()
	keys, as.toUnpin = as.toUnpin, nil
	return keys
}

// forgetPin needs actors.mu.
func (a *actor) forgetPin() bool {
	pinned := time.Now().Before(a.pinned)
	a.pinned = time.Time{}
	return pinned
}
