package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// fetched is a turn of the messages that a fetch brought. It has a lease.
type fetched struct {
	run

	ts    *Turns
	fetch *provider.Turn
	token provider.UUID // of the lease
	ahead bool          // it was claimed ahead
	got   delivered
	// intact is set while the execution is as the last commit left it. It then stays in the cache, although the turn fails.
	intact bool
}

func (ts *Turns) newFetched(a *actor, j job) *fetched {
	f := &fetched{ts: ts, fetch: j.turn, token: j.token, ahead: j.ahead}
	f.of, f.a, f.suspect, f.info = f, a, j.suspect, infoOf(&j.turn.Instance)
	return f
}

func (f *fetched) admit(working context.Context) bool {
	if lostTurns(&f.fetch.Instance) >= f.ts.Config.PoisonLimit {
		f.ts.conclude(&f.run)
		f.poisoned(working)
		return false
	}
	// A turn that waited long must not begin under a lease that has nearly expired.
	if !f.ts.takeSlot(working, &f.run, f.ts.Config.Lease/3) {
		f.ts.conclude(&f.run)
		f.release(working, provider.TurnRelease{})
		return false
	}
	return true
}

func (f *fetched) play(working context.Context) (going map[int64]*local.Attempt, err error) {
	f.ts.reporter.fetched(&f.run, f.fetch, f.ts.Clock.Now())
	x, err := f.load(working)
	if err == nil {
		f.intact = true
		f.got.messages, f.got.now = visible(f.fetch, f.ts.Clock.Now())
		err = f.readOutcomes(working, x)
	}
	if err == nil {
		f.intact = false
		err = f.deliverMessages(x)
	}
	if err == nil {
		if err = f.got.failed(f.runCode(x)); err != nil && f.got.together > 1 {
			f.ts.actors.setApart(f.a.key) // so that the next try finds the message at which the code fails
		}
	}
	if f.ahead {
		f.ts.claims.RunDueTurns(working)
	}
	if err == nil {
		going, err = f.ts.locals.Run(working, x, &f.locals)
	}
	if err == nil {
		err = f.ts.courier.endUnbegun(working, x, &f.fetch.Instance, f.got.unbegun)
	}
	if err == nil {
		f.behindEnd(x)
	}
	return going, err
}

func (f *fetched) complete(working context.Context, t *prepared) bool {
	x, turn := f.a.x, &t.Turn
	t.Request.Lease, t.Request.Ahead, t.Request.Consumed = f.token, f.ahead, f.got.handled
	unread := len(t.Request.Consumed) < len(f.got.messages)
	switch {
	case turn.End == nil, turn.End.Next != nil:
	case f.ts.actors.closingRounds(f.a.key) >= maxClosingRounds, unread && !x.Together():
		t.Request.CloseInbox = "the instance ended before it read the message"
		t.buried = buriedEvents(f.got.messages, t.Request.Consumed)
	case unread: // the store would refuse the end
		f.again(working)
		return false
	}
	if x.Held() { // what still waits may be gone by then, and code that was held must run
		t.Request.Timers = append(t.Request.Timers, provider.Timer{
			EventID: x.Length(), Kind: provider.MessageKind(history.KindExecutionOpened), Due: f.ts.Clock.Now(),
			Payload: history.Encode(nil, history.Event{Body: &history.ExecutionOpened{}}),
		})
	}
	return true
}

func (f *fetched) store(working context.Context, t *prepared) (res provider.CommitTurnResult, stored bool, err error) {
	return f.ts.committer.commit(working, f.a, t)
}

func (f *fetched) confirmed(t *prepared) {
	f.a.fast = 0
	if t.Turn.End == nil && !f.a.x.Held() {
		f.ts.actors.wentOn(f.a.key, f.got.seen == len(f.got.messages) && !f.fetch.More)
	}
}

func (f *fetched) refused(working context.Context, err error, _ bool) {
	switch {
	case errors.Is(err, provider.ErrConflict):
		f.ts.Count.TurnsConflicted.Add(1)
		f.ts.reporter.failed(&f.run, observe.Conflict)
		f.ts.actors.settled(f.a.key)
		f.ts.evictor.evict(f.a)
		f.release(working, provider.TurnRelease{})
	case errors.Is(err, provider.ErrInboxNotEmpty):
		f.again(working)
	case errors.Is(err, provider.ErrTooLarge), errors.Is(err, provider.ErrInvalid):
		f.failed(working, err)
	default:
		f.failed(working, &core.StorageError{Err: err})
	}
}

// again throws away a turn in which the code ended before it was given all messages. The next turn has them.
func (f *fetched) again(working context.Context) {
	f.ts.actors.closingRound(f.a.key)
	f.ts.evictor.evict(f.a)
	f.release(working, provider.TurnRelease{})
}

// load returns the execution of the turn: the cached one if it is at the stored version, else one rebuilt from the history.
func (f *fetched) load(working context.Context) (*replay.Execution, error) {
	a, inst := f.a, &f.fetch.Instance
	// A longer cached execution is ahead of the fetch, because a fast turn has committed since. If it is on another branch, the fence fails
	// the commit.
	if a.x != nil && a.x.Info().Execution == inst.Execution && a.x.Info().Runs == inst.CodeVersion && // it was moved otherwise
		(a.version == inst.Version || a.x.Length() > inst.HistoryLength) {
		f.ts.begin(&f.run, a.x)
		return a.x, nil
	}
	f.ts.evictor.evict(a)
	body, ok := f.ts.Config.Orchestrations[provider.Capability{Name: inst.Name, CodeVersion: inst.CodeVersion}]
	if !ok {
		return nil, fmt.Errorf("orchestration %q version %q is not registered on this node", inst.Name, inst.CodeVersion)
	}
	began := time.Now()
	events, err := f.ts.historian.read(working, inst)
	if err != nil {
		return nil, err
	}
	x := replay.New(f.ts.Config.Env, infoOf(inst), body)
	a.x, a.version = x, inst.Version
	f.source = observe.FromHistory // before the watch knows of the run
	f.ts.begin(&f.run, x)
	if len(events) > 0 {
		f.ts.Count.ColdReplays.Add(1)
		if err := x.Replay(events); err != nil {
			return nil, err
		}
		f.ts.reporter.replayed(x, began)
	}
	return x, nil
}

// delivered describes which messages a fetched turn has handled.
type delivered struct {
	messages []provider.Message // those that were visible when the turn began
	now      provider.Time      // when it began
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

// visible returns the messages of a turn that are visible, and the time. The others wait in the storage.
func visible(turn *provider.Turn, now provider.Time) ([]provider.Message, provider.Time) {
	messages := turn.Messages
	if len(messages) > 0 {
		now = max(now, messages[0].VisibleAt) // the node's estimate may be a little behind
	}
	for n := len(messages); n > 0 && messages[n-1].VisibleAt > now; n-- {
		messages = messages[:n-1]
	}
	return messages, now
}

// deliverMessages applies the messages that are visible, one by one.
func (f *fetched) deliverMessages(x *replay.Execution) error {
	turn, d := f.fetch, &f.got
	d.seen, d.handled = len(d.messages), make([]int64, 0, len(d.messages))
	d.held = x.Held()
	before := f.ts.actors.closingOf(turn.Instance.Key)
	d.collects = before.rounds > 0
	x.PanickedUpdates(before.panicked)
	for i := range d.messages {
		if x.Crowded() {
			d.seen = i
			return nil
		}
		m := &d.messages[i]
		if m.Execution != 0 && m.Execution != turn.Instance.Execution {
			f.ts.Count.MessagesDropped.Add(1)
			f.dropped[droppedStale]++
			d.handled = append(d.handled, m.ID)
			continue
		}
		e, err := history.Decode(0, m.Payload)
		if err != nil {
			return fmt.Errorf("message %d: %w", m.ID, err)
		}
		e.At = int64(max(d.now, m.VisibleAt))
		repeat := false
		switch b := e.Body.(type) {
		case *history.ActivityCancelRequested:
			d.unbegun = append(d.unbegun, b.Scheduled)
			d.handled = append(d.handled, m.ID)
			continue
		case *history.ExecutionStarted:
			// The delay counts from the start, however late the first turn is. The rest of it goes into the history.
			b.Delay = max(0, b.Delay-(e.At-int64(m.VisibleAt)))
			f.ts.anchorer.start(&f.run, x.Info(), b)
		case *history.UpdateReceived:
			if !isUpdate(*m) { // nobody has looked for its outcome
				return fmt.Errorf("message %d: an update is stored as kind %v: %w", m.ID, history.Kind(m.Kind), history.ErrCorrupt)
			}
			if repeat = f.repeats(b); !repeat {
				if err := d.runBefore(x, e.At); err != nil {
					return err
				}
			}
			if x.Ended() {
				d.seen = i
				return nil
			}
		}
		d.handled = append(d.handled, m.ID)
		if repeat {
			f.ts.Count.MessagesDropped.Add(1)
			f.dropped[droppedRepeat]++
			continue
		}
		f.ts.anchorer.message(&f.run, x, &e)
		if err := f.deliver(x, m, e, before.apart); err != nil {
			return err
		}
		if x.Ended() {
			d.seen = i + 1
			return nil
		}
	}
	return nil
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
func (f *fetched) deliver(x *replay.Execution, m *provider.Message, e history.Event, apart bool) error {
	d := &f.got
	applied, err := x.Absorb(e)
	f.ts.anchorer.keep(&f.run, x)
	switch {
	case !applied:
		f.ts.Count.MessagesDropped.Add(1)
		f.dropped[droppedUnwanted]++
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
func (f *fetched) runCode(x *replay.Execution) error {
	turn, d := f.fetch, &f.got
	if d.together > 0 && (turn.More || d.seen < len(d.messages)) && x.Together() && f.ts.actors.mayHold(turn.Instance.Key) {
		x.Hold()
		return nil
	}
	return x.Continue(int64(f.ts.Clock.Now()))
}
