package dispatcher

import (
	"context"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/replay"
)

// evictIdle throws away executions that have rested for CacheIdle, so that instances which wait for long cost no memory. It looks while
// there are any, four times in that time.
func (ev *evictor) evictIdle(working context.Context) {
	for {
		select {
		case <-ev.actors.cached:
		case <-working.Done():
			return
		}
		for {
			if !storage.Pause(working, ev.cfg.CacheIdle/4) {
				return
			}
			idle, left := ev.actors.idleSince(time.Now().Add(-ev.cfg.CacheIdle))
			ev.discard(working, idle)
			if !left {
				break
			}
		}
	}
}

// discard closes executions that the cache has given up.
func (ev *evictor) discard(working context.Context, evicted []*replay.Execution) {
	for _, x := range evicted {
		ev.count.cacheEvictions.Add(1)
		ev.close(x)
	}
	if len(evicted) > 0 {
		ev.unpinner.unpin(working, ev.actors.takeLoose()...)
	}
}

// idleSince removes the executions that have rested since a moment or longer, and reports whether any is left. One that waits for activities
// stays: their results come from this node, most likely, and go on at once with it.
func (as *actors) idleSince(moment time.Time) (evicted []*replay.Execution, left bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for e := as.lru.Back(); e != nil; {
		a := e.Value.(*actor)
		if a.rested.After(moment) {
			break
		}
		e = e.Prev()
		if a.x.Activities() == 0 {
			evicted = append(evicted, as.remove(a))
		}
	}
	return evicted, as.lru.Len() > 0
}
