package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// run is one turn in progress. Whoever ends it first - the turn itself or the watch that
// found it stuck - answers for its slot, its lease and its results.
type run struct {
	a       *actor
	x       atomic.Pointer[replay.Execution] // set once code may run
	info    replay.Info                      // of x, before its code ran
	state   atomic.Int32
	left    chan struct{} // of a first turn: closed when it is abandoned
	slot    bool
	suspect bool           // it runs alone
	ahead   bool           // its turn was claimed ahead
	turn    *provider.Turn // of a fetched turn
	token   provider.UUID
	seen    int       // messages of it delivered before the execution ended or had enough
	results []*result // of a fast turn
	unbegun []int64   // cancelled activities that may never have begun
	locals  atomic.Pointer[locals]
	going   map[int64]*attempt // of local activities that the commit makes tasks, by number of their call
	watched leak.Code
}

// The states of a run.
const (
	runGoing int32 = iota
	runEnded
	runStuck // the watch has answered for it
)

func (d *Dispatcher) newRun(a *actor) *run { return &run{a: a} }

// begin lets the watch see the code that is about to run.
func (d *Dispatcher) begin(r *run, x *replay.Execution) {
	r.info = x.Info()
	r.x.Store(x)
	d.watch.add(r)
	d.count.turnsRunning.Add(1)
}

// conclude ends a run for everybody; false means that the watch was faster and the
// caller must not touch the actor any more.
func (d *Dispatcher) conclude(r *run) bool {
	return d.end(r, runEnded)
}

func (d *Dispatcher) end(r *run, state int32) bool {
	if !r.state.CompareAndSwap(runGoing, state) {
		return false
	}
	if r.x.Load() != nil {
		d.watch.remove(r)
		d.count.turnsRunning.Add(-1)
	}
	return true
}

// finish ends every turn, also when user code took the goroutine along with Goexit, and when the engine itself panicked: both fail the
// turn only. It tells whether the goroutine goes on with the actor.
func (d *Dispatcher) finish(working context.Context, a *actor, r *run, panicked any, back bool) (more bool) {
	for _, local := range r.takeGoing() {
		d.orphan(local, errLeaseLost)
	}
	going := d.conclude(r)
	if r.state.Load() == runStuck {
		d.close(r.x.Load()) // what else is parked in it
		d.watchdog.Returned(&r.watched)
		return false
	}
	switch {
	case panicked != nil:
		d.turnFailed(working, a, r, fmt.Errorf("engine panicked: %v\n%s", panicked, debug.Stack()))
	case going:
		err := errors.New("turn ended by runtime.Goexit")
		if a.x != nil && a.x.Fault() != nil {
			err = a.x.Fault()
		}
		d.turnFailed(working, a, r, err)
	}
	if r.slot {
		d.turns.Release(1)
	}
	if r.suspect {
		d.suspects.Done()
	}
	if !back {
		go d.drive(working, a, nil)
	}
	return back
}

// takeSlot waits for the turn's slot, at most for the given time.
func (d *Dispatcher) takeSlot(working context.Context, r *run, limit time.Duration) bool {
	if working.Err() == nil && d.turns.TryTake() { // without a deadline, which costs memory and a timer
		r.slot = true
		return true
	}
	ctx, cancel := context.WithTimeout(working, limit)
	defer cancel()
	r.slot = d.turns.Take(ctx) == nil
	return r.slot
}

// fetchedTurn makes a turn of the messages that a fetch brought.
func (d *Dispatcher) fetchedTurn(working context.Context, a *actor, r *run, j job) (handed *attempt) {
	r.turn, r.token, r.suspect, r.ahead = j.turn, j.token, j.suspect, j.ahead
	if lostTurns(&j.turn.Instance) >= d.cfg.PoisonLimit {
		d.conclude(r)
		d.poisoned(working, a, r)
		return nil
	}
	// A turn that waited for long must not begin under a lease that is nearly over.
	if !d.takeSlot(working, r, d.cfg.Lease/3) {
		d.conclude(r)
		d.release(working, r, provider.TurnRelease{})
		return nil
	}
	x, err := d.load(working, a, r)
	if err == nil {
		err = d.deliverMessages(x, r)
	}
	if r.ahead {
		d.letDueGoOn(working)
	}
	if err == nil {
		err = d.runLocals(working, x, r)
	}
	if err == nil {
		err = d.endUnbegun(working, x, r)
	}
	if !d.conclude(r) {
		return nil
	}
	if err != nil {
		d.turnFailed(working, a, r, err)
		return nil
	}
	return d.commitFetched(working, a, r, x)
}

// load answers the execution that the turn belongs to: the cached one if it is at the
// stored version, else one rebuilt from the history.
func (d *Dispatcher) load(working context.Context, a *actor, r *run) (*replay.Execution, error) {
	inst := &r.turn.Instance
	// A cached execution that is longer is ahead of the fetch: a fast turn committed
	// since. If it is on another branch, the fence will say so.
	if a.x != nil && a.x.Info().Execution == inst.Execution &&
		(a.version == inst.Version || a.x.Length() > inst.HistoryLength) {
		d.begin(r, a.x)
		return a.x, nil
	}
	d.evict(a)
	body, ok := d.cfg.Orchestrations[provider.Capability{Name: inst.Name, CodeVersion: inst.CodeVersion}]
	if !ok {
		return nil, fmt.Errorf("orchestration %q version %q is not registered on this node", inst.Name, inst.CodeVersion)
	}
	events, err := d.readHistory(working, inst)
	if err != nil {
		return nil, err
	}
	x := replay.New(d.cfg.Env, replay.Info{
		ID: inst.ID, Key: inst.Key, Execution: inst.Execution, Name: inst.Name, CodeVersion: inst.CodeVersion,
	}, body)
	a.x, a.version = x, inst.Version
	d.begin(r, x)
	if len(events) > 0 {
		d.count.coldReplays.Add(1)
		if err := x.Replay(events); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// readHistory reads and decodes the events up to the length that the fetch told.
func (d *Dispatcher) readHistory(working context.Context, inst *provider.Instance) ([]history.Event, error) {
	events := make([]history.Event, 0, inst.HistoryLength)
	for int64(len(events)) < inst.HistoryLength {
		page, err := d.readPage(working, inst, int64(len(events))+1)
		if err != nil {
			return nil, err
		}
		for _, stored := range page.Events {
			if stored.ID != int64(len(events))+1 {
				return nil, fmt.Errorf("event %d follows event %d: %w", stored.ID, len(events), history.ErrCorrupt)
			}
			e, err := history.Decode(stored.ID, stored.Data)
			if err != nil {
				return nil, fmt.Errorf("reading history: %w", err)
			}
			events = append(events, e)
		}
		if len(page.Events) == 0 {
			return nil, fmt.Errorf("history has %d events, the instance row says %d: %w",
				len(events), inst.HistoryLength, history.ErrCorrupt)
		}
	}
	return events, nil
}

func (d *Dispatcher) readPage(working context.Context, inst *provider.Instance, from int64) (provider.ReadHistoryResult, error) {
	ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
	defer cancel()
	page, err := d.store.ReadHistory(ctx, provider.ReadHistoryRequest{
		Key: inst.Key, Execution: inst.Execution, From: from, To: inst.HistoryLength,
	})
	if err != nil {
		return page, &storageError{fmt.Errorf("reading history: %w", err)}
	}
	return page, nil
}

// deliverMessages applies the fetched messages one by one, as far as they are visible when the turn begins: what was claimed ahead
// beside them waits in the storage.
func (d *Dispatcher) deliverMessages(x *replay.Execution, r *run) error {
	now := d.clock.Now()
	if len(r.turn.Messages) > 0 {
		now = max(now, r.turn.Messages[0].VisibleAt) // the node's estimate may be a little behind
	}
	for n := len(r.turn.Messages); n > 0 && r.turn.Messages[n-1].VisibleAt > now; n-- {
		r.turn.Messages = r.turn.Messages[:n-1]
	}
	r.seen = len(r.turn.Messages)
	for i := range r.turn.Messages {
		if x.Crowded() {
			r.seen = i
			return nil
		}
		m := &r.turn.Messages[i]
		if m.Execution != 0 && m.Execution != r.turn.Instance.Execution {
			d.count.messagesDropped.Add(1)
			continue
		}
		e, err := history.Decode(0, m.Payload)
		if err != nil {
			return fmt.Errorf("message %d: %w", m.ID, err)
		}
		if asked, ok := e.Body.(*history.ActivityCancelRequested); ok {
			r.unbegun = append(r.unbegun, asked.Scheduled)
			continue
		}
		e.At = int64(max(now, m.VisibleAt))
		applied, err := x.Deliver(e)
		if err != nil {
			return err
		}
		if !applied {
			d.count.messagesDropped.Add(1)
		}
		if x.Ended() {
			r.seen = i + 1
			return nil
		}
	}
	return nil
}

// outage tells whether the storage failed and may do better later. What it refuses for good
// is a fault of what is stored, and shows on the instance.
func outage(err error) bool {
	failed, ok := errors.AsType[*storageError](err)
	return ok && (provider.Retryable(failed.err) || errors.Is(err, provider.ErrClosed) || errors.Is(err, provider.ErrNotFound))
}

// storageError is a failure of the storage; the turn is not to blame.
type storageError struct{ err error }

func (e *storageError) Error() string { return e.err.Error() }

func (e *storageError) Unwrap() error { return e.err }

// turnFailed ends a turn that could not be made. The execution is thrown away; the
// instance is Blocked and tried again later, unless the fault lies with this node or the storage.
func (d *Dispatcher) turnFailed(working context.Context, a *actor, r *run, err error) {
	d.evict(a)
	d.giveBack(working, r.results)
	if r.turn == nil {
		d.letGoOf(working, a)
		// The results go to the inbox; the turn that they cause there will show the failure.
		return
	}
	if outage(err) || errors.Is(err, history.ErrNewer) {
		d.cfg.Logger.Warn("turn given back", "instance", r.turn.Instance.ID, "err", err)
		d.release(working, r, provider.TurnRelease{Delay: storage.Backoff(5)})
		return
	}
	d.count.turnsFailed.Add(1)
	failures := int64(0)
	if b := r.turn.Instance.Blocked; b != nil {
		failures = b.Count
	}
	delay := d.turnBackoff(failures)
	d.cfg.Logger.Error("turn failed: the instance is blocked", "instance", r.turn.Instance.ID,
		"orchestration", r.turn.Instance.Name, "reason", reasonOf(err), "retry_in", delay, "err", err)
	d.block(working, r, &provider.TurnFailure{Reason: reasonOf(err), Message: err.Error()}, failures)
}
