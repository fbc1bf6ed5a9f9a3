package dispatcher

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// deadlockStrikes is at which deadlock in a row an instance is held until a person looks.
const deadlockStrikes = 3

// watch finds turns whose code does not come back: neither a return nor a call into the
// engine within the deadlock limit, by the monotonic clock.
type watch struct {
	d    *Dispatcher
	mu   sync.Mutex
	runs map[*run]*sample
}

// sample is what the watch saw of a run, and when first.
type sample struct {
	progress int64
	since    time.Time
}

func newWatch(d *Dispatcher) *watch { return &watch{d: d, runs: make(map[*run]*sample)} }

func (w *watch) add(r *run) {
	w.mu.Lock()
	w.runs[r] = &sample{progress: -1}
	w.mu.Unlock()
}

func (w *watch) remove(r *run) {
	w.mu.Lock()
	delete(w.runs, r)
	w.mu.Unlock()
}

func (w *watch) run(working context.Context) {
	for pause(working, w.d.cfg.DeadlockLimit/8) {
		for _, r := range w.stuck(time.Now()) {
			w.d.abandon(working, r)
		}
	}
}

// stuck answers the runs that have shown no progress for the limit.
func (w *watch) stuck(now time.Time) []*run {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []*run
	for r, s := range w.runs {
		if p := r.x.Load().Progress(); p != s.progress {
			s.progress, s.since = p, now
			continue
		}
		if now.Sub(s.since) >= w.d.cfg.DeadlockLimit && r.x.Load().InCode() {
			found = append(found, r)
		}
	}
	return found
}

// abandon gives up a stuck turn in place of its goroutine: stack reported, lease ended,
// slot freed, results sent the ordinary way. The goroutine ends at its next call into the engine.
func (d *Dispatcher) abandon(working context.Context, r *run) {
	x := r.x.Load()
	stack := x.StuckStack()
	if stack == "" || !d.end(r, runStuck) {
		return
	}
	x.Abandon()
	d.left.Add(1)
	d.count.turnsFailed.Add(1)
	d.count.turnsStuck.Add(1)
	info := x.Info()
	d.cfg.Logger.Error("turn is stuck: orchestration code blocks outside of the engine", "instance", info.ID,
		"orchestration", info.Name, "limit", d.cfg.DeadlockLimit, "stack", stack)
	waiting := d.actors.disown(r.a)
	d.work.add()
	go func() {
		defer d.work.done()
		d.refuse(working, waiting)
		d.giveBack(working, r.results)
		if r.turn == nil {
			return
		}
		failures := int64(0)
		if b := r.turn.Instance.Blocked; b != nil && b.Reason == "deadlock" {
			failures = b.Count
		}
		d.block(working, r, &provider.TurnFailure{
			Reason: "deadlock", Hold: failures+1 >= deadlockStrikes,
			Message: fmt.Sprintf("code ran for %v without a call into the engine:\n%s", d.cfg.DeadlockLimit, stack),
		}, failures)
	}()
	if r.slot {
		d.turns.give(1)
	}
	d.work.done()
}

// refuse answers jobs that no actor will do: turns are released, results go to the inbox.
func (d *Dispatcher) refuse(working context.Context, jobs []job) {
	for _, j := range jobs {
		if j.result != nil {
			d.giveBack(working, []*result{j.result})
			continue
		}
		d.turns.give(1)
		d.releaseTurns(working, []provider.TurnRelease{{Key: j.turn.Instance.Key, Token: j.token}})
	}
}
