package turn

import (
	"time"

	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// stickyTime is how long a commit pins the instance to this node, which has the execution in memory and needs no replay. A message waits at
// most that long for a live node that is too busy.
const stickyTime = 5 * time.Second

// pinTime is at most a lease: a dead node must not keep its instances longer than its work.
func (pr *preparer) pinTime() time.Duration { return min(stickyTime, pr.Config.Lease) }

// pin pins the instance to this node if the commit leaves a cached execution, unless turns wait here for a slot.
func (pr *preparer) pin(t *prepared, a *actor, x replay.View) {
	if pr.Config.Off.Has(fastpath.Sticky) {
		return
	}
	if pr.Config.CacheCount == 0 || x.Size() > pr.Config.CacheBytes || t.Turn.End != nil || !pr.Accepting() || pr.turnSlots.Wanted() {
		return
	}
	t.Request.Owner, t.Request.Sticky = pr.Config.Owner, pr.pinTime()
	pr.actors.notePin(a) // whatever becomes of the commit
}

// notePin notes that the instance may be pinned from now on.
func (as *actors) notePin(a *actor) {
	as.mu.Lock()
	a.pinned = time.Now().Add(stickyTime)
	as.mu.Unlock()
}

// forgetPin reports whether the instance may still be pinned, and forgets it.
func (as *actors) forgetPin(a *actor) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	return a.forgetPin()
}

// forgetPins returns the instances that may still be pinned, and forgets it.
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

// takeToUnpin returns instances that were evicted while they may be pinned.
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
