package dispatcher

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/internal/replay"
)

// evict throws the actor's execution away.
func (d *Dispatcher) evict(a *actor) {
	if a.x != nil {
		d.count.cacheEvictions.Add(1)
		d.close(a.x)
		a.x = nil
	}
}

// close unwinds an execution beside the running work; its deferred functions are the
// user's. What does not come back within the deadlock limit is left behind, like a stuck turn.
func (d *Dispatcher) close(x *replay.Execution) {
	if x == nil {
		return
	}
	if !x.Parked() { // as nearly always at the end
		x.Close()
		return
	}
	d.work.Add()
	var left atomic.Bool
	var code leak.Code
	stop := func() bool { return true }
	if limit := d.cfg.DeadlockLimit; limit > 0 {
		stop = time.AfterFunc(limit, func() {
			if left.CompareAndSwap(false, true) {
				d.leaveEviction(x, &code)
			}
		}).Stop
	}
	go func() {
		x.Close()
		stop()
		d.watchdog.Returned(&code)
		if left.CompareAndSwap(false, true) {
			d.work.Done()
		}
	}()
}

// leaveEviction no longer waits for an eviction, and says so.
func (d *Dispatcher) leaveEviction(x *replay.Execution, code *leak.Code) {
	info := x.Info()
	d.watchCode(code, leak.Eviction, x, info, "its execution was thrown away")
	d.count.evictionsStuck.Add(1)
	d.cfg.Logger.Error("eviction is stuck: a deferred function of orchestration code does not return", "instance", info.ID,
		"orchestration", info.Name, "limit", d.cfg.DeadlockLimit)
	d.work.Done()
}
