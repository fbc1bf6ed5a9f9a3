package dispatcher

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/internal/replay"
)

// evictor ends executions in memory.
type evictor struct {
	*node

	actors   *actors
	unpinner *unpinner
}

// evict throws the actor's execution away.
func (ev *evictor) evict(a *actor) {
	if a.x != nil {
		ev.count.cacheEvictions.Add(1)
		ev.close(a.x)
		a.x = nil
	}
}

// close unwinds an execution while other work goes on: its deferred functions are the
// user's. Code that does not return within the deadlock limit is abandoned, like a stuck turn.
func (ev *evictor) close(x *replay.Execution) {
	if x == nil {
		return
	}
	if !x.Parked() { // as nearly always at the end
		x.Close()
		return
	}
	ev.work.Add()
	var left atomic.Bool
	var code leak.Code
	stop := func() bool { return true }
	if limit := ev.cfg.DeadlockLimit; limit > 0 {
		stop = time.AfterFunc(limit, func() {
			if left.CompareAndSwap(false, true) {
				ev.abandon(x, &code)
			}
		}).Stop
	}
	go func() {
		x.Close()
		stop()
		ev.watchdog.Returned(&code)
		if left.CompareAndSwap(false, true) {
			ev.work.Done()
		}
	}()
}

// abandon no longer waits for an eviction, and says so.
func (ev *evictor) abandon(x *replay.Execution, code *leak.Code) {
	info := x.Info()
	ev.watchCode(code, leak.Eviction, x, info, "its execution was thrown away")
	ev.count.evictionsStuck.Add(1)
	ev.cfg.Logger.Error("eviction is stuck: a deferred function of orchestration code does not return", "instance", info.ID,
		"orchestration", info.Name, "limit", ev.cfg.DeadlockLimit)
	ev.work.Done()
}
