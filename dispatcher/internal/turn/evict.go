package turn

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/fast"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/replay"
)

// evictor evicts executions.
type evictor struct {
	*core.Node

	actors   *actors
	unpinner *fast.Unpinner
}

// evict evicts the actor's execution.
func (ev *evictor) evict(a *actor) {
	if a.x != nil {
		ev.Count.CacheEvictions.Add(1)
		ev.close(a.x)
		a.x = nil
	}
}

// close unwinds an execution in the background, because its deferred functions are user code. Code that does not return within the deadlock
// limit is abandoned, like a stuck turn.
func (ev *evictor) close(x *replay.Execution) {
	if x == nil {
		return
	}
	if !x.View().Parked() { // the usual case at the end
		x.Close()
		return
	}
	ev.Work.Add()
	var decided atomic.Bool
	var code leak.Code
	stop := func() bool { return true }
	if limit := ev.Config.DeadlockLimit; limit > 0 {
		stop = time.AfterFunc(limit, func() {
			if decided.CompareAndSwap(false, true) {
				ev.abandon(x, &code)
			}
		}).Stop
	}
	go func() {
		x.Close()
		stop()
		ev.Watchdog.Returned(&code)
		if decided.CompareAndSwap(false, true) {
			ev.Work.Done()
		}
	}()
}

// abandon stops waiting for an eviction and logs that.
func (ev *evictor) abandon(x *replay.Execution, code *leak.Code) {
	info := x.View().Info()
	ev.watchCode(code, leak.Eviction, x, info, "its execution was thrown away")
	ev.Count.EvictionsStuck.Add(1)
	ev.Config.Logger.Error("eviction is stuck: a deferred function of orchestration code does not return", "instance", info.ID,
		"orchestration", info.Name, "limit", ev.Config.DeadlockLimit)
	ev.Work.Done()
}

// watchCode adds abandoned orchestration code to the watchdog.
func (ev *evictor) watchCode(code *leak.Code, kind string, x *replay.Execution, info replay.Info, cause string) {
	code.RunsOn(x.Probe().Goroutine())
	ev.Watchdog.Enter(code, leak.Entry{Key: info.Key, Work: leak.Work{
		Kind: kind, Name: info.Name, InstanceID: info.ID, Execution: info.Execution, Cause: cause,
	}})
}

// evictIdle evicts executions that have been idle for CacheIdle. While there are any, it checks four times in that period.
func (ev *evictor) evictIdle(working context.Context) {
	for {
		select {
		case <-ev.actors.cached:
		case <-working.Done():
			return
		}
		for {
			if !storage.Pause(working, ev.Config.CacheIdle/4) {
				return
			}
			idle, left := ev.actors.idleSince(time.Now().Add(-ev.Config.CacheIdle))
			ev.discard(working, idle)
			if !left {
				break
			}
		}
	}
}

// discard closes executions that the cache has evicted.
func (ev *evictor) discard(working context.Context, evicted []*replay.Execution) {
	for _, x := range evicted {
		ev.Count.CacheEvictions.Add(1)
		ev.close(x)
	}
	if len(evicted) > 0 {
		ev.unpinner.Unpin(working, ev.actors.takeToUnpin()...)
	}
}

// idleSince removes the executions that have been idle since the given moment, and reports whether any is left. Executions that wait for
// activities stay: the results most likely come from this node.
func (as *actors) idleSince(moment time.Time) (evicted []*replay.Execution, left bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for e := as.lru.Back(); e != nil; {
		a := e.Value.(*actor)
		if a.idleSince.After(moment) {
			break
		}
		e = e.Prev()
		if a.x.View().Activities() == 0 {
			evicted = append(evicted, as.remove(a))
		}
	}
	return evicted, as.lru.Len() > 0
}

// unpin unpins an instance if it may be pinned.
func (ev *evictor) unpin(working context.Context, a *actor) {
	if ev.actors.forgetPin(a) {
		ev.unpinner.Unpin(working, a.key)
	}
}
