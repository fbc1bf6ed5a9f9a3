package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/provider"
)

// deadlockStrikes is at which deadlock in a row an instance is held until a person looks.
const deadlockStrikes = 3

// watch finds turns whose code does not come back: neither a return nor a call into the
// engine within the deadlock limit, by the monotonic clock.
type watch struct {
	d    *Dispatcher
	busy chan struct{} // has room for one: the first run since there was none
	mu   sync.Mutex
	runs map[*run]*sample
}

// sample is what the watch saw of a run, and when first.
type sample struct {
	progress int64
	since    time.Time
}

func newWatch(d *Dispatcher) *watch {
	return &watch{d: d, busy: make(chan struct{}, 1), runs: make(map[*run]*sample)}
}

func (w *watch) add(r *run) {
	w.mu.Lock()
	w.runs[r] = &sample{progress: -1}
	w.mu.Unlock()
	select {
	case w.busy <- struct{}{}:
	default:
	}
}

func (w *watch) all() []*run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.runs))
}

func (w *watch) remove(r *run) {
	w.mu.Lock()
	delete(w.runs, r)
	w.mu.Unlock()
}

// run looks at the runs again and again while there are any.
func (w *watch) run(working context.Context) {
	for {
		select {
		case <-w.busy:
		case <-working.Done():
			return
		}
		for len(w.all()) > 0 {
			if !pause(working, w.d.cfg.DeadlockLimit/8) {
				return
			}
			for _, r := range w.stuck(time.Now()) {
				w.d.abandon(working, r)
			}
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

// abandon gives up a turn that is stuck and shows it on the instance.
func (d *Dispatcher) abandon(working context.Context, r *run) {
	x := r.x.Load()
	stack := x.StuckStack()
	if stack == "" || !d.leave(working, r, func() { d.deadlocked(working, r, stack) }) {
		return
	}
	d.count.turnsFailed.Add(1)
	d.count.turnsStuck.Add(1)
	info := x.Info()
	d.cfg.Logger.Error("turn is stuck: orchestration code blocks outside of the engine", "instance", info.ID,
		"orchestration", info.Name, "limit", d.cfg.DeadlockLimit, "stack", stack)
}

// leave ends a turn in place of its goroutine: slot freed, results sent the ordinary way, the lease ended as
// endLease does. The goroutine ends at its next call into the engine. False means that the turn was faster.
func (d *Dispatcher) leave(working context.Context, r *run, endLease func()) bool {
	x := r.x.Load()
	if !d.end(r, runStuck) {
		return false
	}
	x.Abandon()
	if r.left != nil {
		close(r.left)
	}
	if l := r.locals.Load(); l != nil {
		l.cancel(errLeaseLost)
	}
	d.watchCode(&r.watched, leak.Turn, x, r.info, "its turn was given up")
	waiting := d.actors.disown(r.a)
	d.work.Add()
	go func() {
		defer d.work.Done()
		d.letGoOf(working, r.a)
		d.refuse(working, waiting)
		d.giveBack(working, r.results)
		endLease()
		if r.suspect {
			d.suspects.done()
		}
	}()
	if r.slot {
		d.turns.give(1)
	}
	d.work.Done()
	return true
}

// deadlocked blocks the instance of a stuck turn; the third time in a row until a person looks.
func (d *Dispatcher) deadlocked(working context.Context, r *run, stack string) {
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
}

// refuse answers jobs that no actor will do: turns are released, results go to the inbox.
func (d *Dispatcher) refuse(working context.Context, jobs []job) {
	for _, j := range jobs {
		if j.result != nil {
			d.giveBack(working, []*result{j.result})
			continue
		}
		d.releaseTurns(working, []provider.TurnRelease{{Key: j.turn.Instance.Key, Token: j.token}})
		if j.suspect {
			d.suspects.done()
		}
	}
}
