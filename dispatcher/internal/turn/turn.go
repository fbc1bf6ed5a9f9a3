package turn

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// run is one turn in progress. The turn ends it, or the watch if it is stuck. The first to do so releases the slot and the lease, and
// delivers the results.
type run struct {
	seen

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
	results []*task.Result // of a fast turn
	locals  local.Current
	watched leak.Code
}

// The states of a run.
const (
	runGoing int32 = iota
	runEnded
	runStuck // the watch has ended it
)

// newRun makes the run of a fetched turn, of results, or of neither if the turn is the first of its instance.
func newRun(a *actor, j job, results []*task.Result) *run {
	return &run{a: a, turn: j.turn, token: j.token, suspect: j.suspect, ahead: j.ahead, results: results}
}

// takeSlot waits for the turn's slot, for at most the given time.
func (ts *Turns) takeSlot(working context.Context, r *run, limit time.Duration) bool {
	if working.Err() == nil && ts.slots.TryTake() { // without a deadline, which costs an allocation and a timer
		r.slot = true
		return true
	}
	ctx, cancel := context.WithTimeout(working, limit)
	defer cancel()
	r.slot = ts.slots.Take(ctx) == nil
	return r.slot
}

// fetchedTurn makes a turn of the messages that a fetch brought.
func (ts *Turns) fetchedTurn(working context.Context, a *actor, r *run) (handed *task.Attempt) {
	if lostTurns(&r.turn.Instance) >= ts.Config.PoisonLimit {
		ts.conclude(r)
		ts.poisoned(working, a, r)
		return nil
	}
	// A turn that waited long must not begin under a lease that has nearly expired.
	if !ts.takeSlot(working, r, ts.Config.Lease/3) {
		ts.conclude(r)
		ts.blocker.release(working, r, provider.TurnRelease{})
		return nil
	}
	var d delivered
	ts.reporter.fetched(r, ts.Clock.Now())
	x, err := ts.load(working, a, r)
	if err == nil {
		d, err = ts.deliverMessages(working, r, x)
	}
	if err == nil {
		if err = d.failed(ts.runCode(x, r.turn, &d)); err != nil && d.together > 1 {
			ts.actors.setApart(a.key) // so that the next try finds the message at which the code fails
		}
	}
	if r.ahead {
		ts.claims.RunDueTurns(working)
	}
	var going map[int64]*local.Attempt
	if err == nil {
		going, err = ts.locals.Run(working, x, &r.locals)
	}
	defer ts.locals.DetachAll(going)
	if err == nil {
		err = ts.courier.endUnbegun(working, x, &r.turn.Instance, d.unbegun)
	}
	if err == nil {
		err = ts.behindEnd(working, x, r, &d)
	}
	if !ts.conclude(r) {
		return nil
	}
	if err != nil {
		ts.turnFailed(working, a, r, err)
		return nil
	}
	return ts.commitFetched(working, a, r, x, d, going)
}

// commitFetched stores a fetched turn and acts on the outcome.
func (ts *Turns) commitFetched(
	working context.Context, a *actor, r *run, x *replay.Execution, d delivered, going map[int64]*local.Attempt,
) (handed *task.Attempt) {
	turn, stored := x.Turn(), false
	t := ts.translator.begin(a, r, x, turn, going)
	defer func() { ts.committer.rollBack(working, t, stored) }()
	ts.translator.translate(t, a, x, turn)
	t.req.Lease, t.req.Ahead = r.token, r.ahead
	t.req.Consumed = d.handled
	unread := len(t.req.Consumed) < len(d.messages)
	switch {
	case turn.End == nil, turn.End.Next != nil:
	case ts.actors.closingRounds(a.key) >= maxClosingRounds, unread && !x.Together():
		t.req.CloseInbox = "the instance ended before it read the message"
	case unread: // the store would refuse the end
		ts.again(working, a, r)
		return nil
	}
	if x.Held() { // what still waits may be gone by then, and code that was held must run
		t.req.Timers = append(t.req.Timers, provider.Timer{
			EventID: x.Length(), Kind: provider.MessageKind(history.KindExecutionOpened), Due: ts.Clock.Now(),
			Payload: history.Encode(nil, history.Event{Body: &history.ExecutionOpened{}}),
		})
	}
	stored = true // until commit returns: the provider may panic
	res, stored, err := ts.committer.commit(working, a, t)
	if err == nil {
		a.fast = 0
		if turn.End == nil && !x.Held() {
			ts.actors.wentOn(a.key, d.seen == len(d.messages) && !r.turn.More)
		}
		var buried []string
		if t.req.CloseInbox != "" {
			buried = buriedEvents(d.messages, t.req.Consumed)
		}
		return ts.committer.committed(working, a, r, x, turn, t, res, buried)
	}
	ts.committer.rollBack(working, t, stored)
	switch {
	case errors.Is(err, provider.ErrConflict):
		ts.Count.TurnsConflicted.Add(1)
		ts.reporter.failed(r, observe.Conflict)
		ts.actors.settled(a.key)
		ts.evictor.evict(a)
		ts.blocker.release(working, r, provider.TurnRelease{})
	case errors.Is(err, provider.ErrInboxNotEmpty):
		ts.again(working, a, r)
	case errors.Is(err, provider.ErrTooLarge), errors.Is(err, provider.ErrInvalid):
		ts.turnFailed(working, a, r, err)
	default:
		ts.turnFailed(working, a, r, &core.StorageError{Err: err})
	}
	return nil
}

// again throws away a turn in which the code ended before it was given all messages. The next turn has them.
func (ts *Turns) again(working context.Context, a *actor, r *run) {
	ts.actors.closingRound(a.key)
	ts.evictor.evict(a)
	ts.blocker.release(working, r, provider.TurnRelease{})
}

// load returns the execution of the turn: the cached one if it is at the stored version, else one rebuilt from the history.
func (ts *Turns) load(working context.Context, a *actor, r *run) (*replay.Execution, error) {
	inst := &r.turn.Instance
	// A longer cached execution is ahead of the fetch, because a fast turn has committed since. If it is on another branch, the fence fails
	// the commit.
	if a.x != nil && a.x.Info().Execution == inst.Execution && a.x.Info().Runs == inst.CodeVersion && // it was moved otherwise
		(a.version == inst.Version || a.x.Length() > inst.HistoryLength) {
		ts.begin(r, a.x)
		return a.x, nil
	}
	ts.evictor.evict(a)
	body, ok := ts.Config.Orchestrations[provider.Capability{Name: inst.Name, CodeVersion: inst.CodeVersion}]
	if !ok {
		return nil, fmt.Errorf("orchestration %q version %q is not registered on this node", inst.Name, inst.CodeVersion)
	}
	began := time.Now()
	events, err := ts.historian.read(working, inst)
	if err != nil {
		return nil, err
	}
	x := replay.New(ts.Config.Env, infoOf(inst), body)
	a.x, a.version = x, inst.Version
	r.source = observe.FromHistory // before the watch knows of the run
	ts.begin(r, x)
	if len(events) > 0 {
		ts.Count.ColdReplays.Add(1)
		if err := x.Replay(events); err != nil {
			return nil, err
		}
		ts.reporter.replayed(x, began)
	}
	return x, nil
}

// delivered describes which messages a fetched turn has handled.
type delivered struct {
	messages []provider.Message // those that were visible when the turn began
	seen     int                // of these: delivered before the execution ended or reached its limit
	handled  []int64            // IDs of those that the commit consumes
	unbegun  []int64            // cancelled activities that may never have begun
	last     *provider.Message  // the last one that became an event; nil: none
	together int                // messages that became events since the code ran
	held     bool               // the code has not run on the messages of the turn before
	collects bool               // the code runs after all messages, because it ended before some of them
}

// failed names the message after which the turn failed, if that is known. A start is not named, because nothing can do without it.
func (d *delivered) failed(err error) error {
	if err == nil || d.last == nil || d.together > 1 || d.held || d.last.Kind == provider.MessageKind(history.KindExecutionStarted) {
		return err
	}
	return fmt.Errorf("message %d (%v): %w", d.last.ID, history.Kind(d.last.Kind), err)
}

// deliverMessages applies the fetched messages that are visible, one by one. The others wait in the storage.
func (ts *Turns) deliverMessages(working context.Context, r *run, x *replay.Execution) (d delivered, err error) {
	turn, now := r.turn, ts.Clock.Now()
	d.messages = turn.Messages
	if len(d.messages) > 0 {
		now = max(now, d.messages[0].VisibleAt) // the node's estimate may be a little behind
	}
	for n := len(d.messages); n > 0 && d.messages[n-1].VisibleAt > now; n-- {
		d.messages = d.messages[:n-1]
	}
	d.seen, d.handled = len(d.messages), make([]int64, 0, len(d.messages))
	d.held = x.Held()
	before := ts.actors.closingOf(turn.Instance.Key)
	d.collects = before.rounds > 0
	x.PanickedUpdates(before.panicked)
	for i := range d.messages {
		if x.Crowded() {
			d.seen = i
			return d, nil
		}
		m := &d.messages[i]
		if m.Execution != 0 && m.Execution != turn.Instance.Execution {
			ts.Count.MessagesDropped.Add(1)
			r.dropped[droppedStale]++
			d.handled = append(d.handled, m.ID)
			continue
		}
		e, err := history.Decode(0, m.Payload)
		if err != nil {
			return d, fmt.Errorf("message %d: %w", m.ID, err)
		}
		e.At = int64(max(now, m.VisibleAt))
		repeat := false
		switch b := e.Body.(type) {
		case *history.ActivityCancelRequested:
			d.unbegun = append(d.unbegun, b.Scheduled)
			d.handled = append(d.handled, m.ID)
			continue
		case *history.ExecutionStarted:
			// The delay counts from the start, however late the first turn is. The rest of it goes into the history.
			b.Delay = max(0, b.Delay-(e.At-int64(m.VisibleAt)))
			ts.anchorer.start(r, x.Info(), b)
		case *history.UpdateReceived:
			if repeat, err = ts.repeats(working, r, x, b); err == nil && !repeat {
				err = d.runBefore(x, e.At)
			}
			if err != nil {
				return d, err
			}
			if x.Ended() {
				d.seen = i
				return d, nil
			}
		}
		d.handled = append(d.handled, m.ID)
		if repeat {
			ts.Count.MessagesDropped.Add(1)
			r.dropped[droppedRepeat]++
			continue
		}
		ts.anchorer.message(r, x, &e)
		if err := ts.deliver(r, x, &d, m, e, before.apart); err != nil {
			return d, err
		}
		if x.Ended() {
			d.seen = i + 1
			return d, nil
		}
	}
	return d, nil
}

// runBefore runs the code on the messages before an update, so that its validator sees what they have changed. A turn that must
// bring all messages to a code that is about to end does not.
func (d *delivered) runBefore(x *replay.Execution, at int64) error {
	if d.collects || !x.Held() {
		return nil
	}
	if err := x.Continue(at); err != nil {
		return d.failed(err)
	}
	d.together, d.held = 0, false
	return nil
}

// deliver applies one message. If messages go apart, the code runs on it at once.
func (ts *Turns) deliver(r *run, x *replay.Execution, d *delivered, m *provider.Message, e history.Event, apart bool) error {
	applied, err := x.Absorb(e)
	ts.anchorer.keep(r, x)
	switch {
	case !applied:
		ts.Count.MessagesDropped.Add(1)
		r.dropped[droppedUnwanted]++
	case x.Together() && !apart:
		d.last, d.together = m, d.together+1
	default:
		d.last, d.together = m, 1
	}
	if apart && applied && err == nil {
		if err = x.Continue(e.At); err == nil {
			d.held = false
		}
	}
	return d.failed(err)
}

// runCode runs the code on the messages that were delivered. If it would end before others that wait, as a refused commit has shown, the
// turn only stores its messages. A later one runs the code.
func (ts *Turns) runCode(x *replay.Execution, turn *provider.Turn, d *delivered) error {
	if d.together > 0 && (turn.More || d.seen < len(d.messages)) && x.Together() && ts.actors.mayHold(turn.Instance.Key) {
		x.Hold()
		return nil
	}
	return x.Continue(int64(ts.Clock.Now()))
}

// outage reports whether the storage failed and may succeed later. A permanent refusal is a fault of the stored data and blocks the
// instance.
func outage(err error) bool {
	failed, ok := errors.AsType[*core.StorageError](err)
	return ok && (provider.Retryable(failed.Err) || errors.Is(err, provider.ErrClosed) || errors.Is(err, provider.ErrNotFound))
}

// turnFailed ends a failed turn. It evicts the execution and blocks the instance, which is retried later, unless the fault is this node's
// or the storage's.
func (ts *Turns) turnFailed(working context.Context, a *actor, r *run, err error) {
	ts.evictor.evict(a)
	ts.courier.giveBack(working, r.results)
	if errors.Is(err, replay.ErrApart) {
		ts.actors.setApart(a.key)
		ts.blocker.release(working, r, provider.TurnRelease{})
		return
	}
	if r.turn == nil {
		ts.evictor.unpin(working, a)
		// The results go to the inbox; the turn of those messages will show the failure.
		return
	}
	if bad, ok := errors.AsType[*replay.UpdatePanicError](err); ok && ts.rejectNext(working, a, r, bad) {
		return
	}
	if ts.olderCode(r, err) {
		ts.evictor.unpin(working, a)
		err = errors.Join(err, history.ErrNewer)
	}
	if outage(err) || errors.Is(err, history.ErrNewer) {
		ts.Config.Logger.Warn("turn given back", "instance", r.turn.Instance.ID, "err", err)
		ts.blocker.release(working, r, provider.TurnRelease{Delay: storage.Backoff(5)})
		return
	}
	ts.Count.TurnsFailed.Add(1)
	ts.reporter.failed(r, observe.Failed)
	failures := int64(0)
	if b := r.turn.Instance.Blocked; b != nil {
		failures = b.Count
	}
	delay := ts.blocker.backoff(failures)
	ts.Config.Logger.Error("turn failed: the instance is blocked", "instance", r.turn.Instance.ID,
		"orchestration", r.turn.Instance.Name, "reason", reasonOf(err), "retry_in", delay, "err", err)
	ts.blocker.block(working, r, &provider.TurnFailure{Reason: reasonOf(err), Message: err.Error()}, failures)
}
