package replay

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// runOfUpdate is the kind of a run that handles an update.
const runOfUpdate = "update"

const (
	// maxOpenUpdates bounds the updates of an execution that have no outcome yet.
	maxOpenUpdates = 1_000
	// maxPendingUpdates bounds the bytes of those that wait for the code, or for the next execution, which one commit opens.
	maxPendingUpdates = 4 << 20
)

// UpdateHandler handles the updates of a name.
type UpdateHandler struct {
	// Check decodes and validates an input. It may only read, as the handler of a query does.
	Check func(name string, input []byte) error
	// Run handles an update whose input was valid.
	Run func(s *Scope, name string, input []byte) (output []byte, err error)
	// Serial lets an update wait until those before it have ended. It is then validated again.
	Serial bool
	// Abandon lets the execution end before the handler.
	Abandon bool
}

// updateHandler is a registered handler.
type updateHandler struct {
	UpdateHandler

	queue []*openUpdate // Serial: those that run or wait, oldest first
}

// openUpdate is an update that was received and has no outcome yet.
type openUpdate struct {
	received int64 // event ID
	body     *history.UpdateReceived
	at       int64
	accepted bool
	waited   bool    // Serial: its turn had not come when it was accepted
	turn     *Future // Serial: settled when it may run
	output   []byte
	outcome  int64 // of a run that did not begin; 0: the function decides
	refusal  *history.Failure
}

// HandleUpdate registers the handler of the updates of a name. It leaves no event. It decides about those that came
// before it. A second handler of the name fails the turn.
func (s *Scope) HandleUpdate(name string, handler UpdateHandler) {
	x := s.x
	x.sched.enter()
	x.job.listens = true
	us := x.wantUpdates()
	if us.handlers[name] != nil {
		x.sched.abort(fmt.Errorf("the update %q has two handlers, the second from %s: register one only", name, callerOutside()))
	}
	us.handlers = with(us.handlers, name, &updateHandler{UpdateHandler: handler})
	us.bytes += len(name)
	if x.job.shut == 0 {
		x.beginPending(name)
	}
}

// HandleAnyUpdate registers the handler of the updates of all other names. A second one fails the turn.
func (s *Scope) HandleAnyUpdate(handler UpdateHandler) {
	x := s.x
	x.sched.enter()
	x.job.listens = true
	us := x.wantUpdates()
	if us.any != nil {
		x.sched.abort(fmt.Errorf("the updates of all names have two handlers, the second from %s: register one only", callerOutside()))
	}
	us.any = &updateHandler{UpdateHandler: handler}
	if x.job.shut == 0 {
		x.beginPending("")
	}
}

// beginPending begins runs for the updates that wait and have a handler: those of a name, or all if it is empty.
func (x *core) beginPending(name string) {
	us := x.updates
	waiting := us.pending
	us.pending = nil
	for _, u := range waiting {
		if h := us.of(u.body.Name); h != nil && (name == "" || name == u.body.Name) {
			x.handleUpdate(h, u).fresh = true
			x.job.fresh++
		} else {
			us.pending = append(us.pending, u)
		}
	}
}

// carries reports whether an update that comes now goes to the next execution, as far as is known.
func (x *core) carries() bool {
	if x.closing != nil {
		return x.closing.record.Next != nil
	}
	return x.job.shut > 0
}

func (x *core) wantUpdates() *updates {
	if x.updates == nil {
		x.updates = &updates{}
	}
	return x.updates
}

// takesUpdate reports whether a live update becomes an event. Otherwise it is a repeat, or is refused without one.
func (x *Execution) takesUpdate(b *history.UpdateReceived, at int64) bool {
	us := x.wantUpdates()
	if _, again := us.changed[b.ID]; again || us.open[b.ID] != nil {
		return false
	}
	if us.known.has(b.ID) {
		us.repeats = append(us.repeats, history.UpdateState{
			Outcome: history.UpdateGone, ID: b.ID, Name: b.Name, At: at, Ended: at,
		})
		return false
	}
	next := x.carries()
	switch {
	case x.closing != nil && !next:
		us.refuse(b, at, history.UpdateClosing, nil)
		return false
	case len(us.open) >= maxOpenUpdates:
		us.refuse(b, at, history.UpdateRefused, x.refusal("%d updates of the instance have no outcome yet: wait for some first", len(us.open)))
		return false
	}
	if _, waiting := us.pendingBytes(); waiting+len(b.Input) > maxPendingUpdates && (!x.blocked || next) {
		us.refuse(b, at, history.UpdateRefused, x.refusal("the updates that wait for the code have %d bytes: send it later", waiting))
		return false
	}
	if err := x.root.admitLength(len(b.Input)); err != nil {
		us.refuse(b, at, history.UpdateRefused, new(x.env.Errors.Encode(err)))
		return false
	}
	if !x.blocked || next {
		return true
	}
	if outcome, why := x.verdict(b); outcome != 0 {
		us.refuse(b, at, outcome, why)
		return false
	}
	return x.sched.fault == nil
}

func (x *core) refusal(format string, args ...any) *history.Failure {
	return new(x.env.Errors.Encode(x.env.Errors.New(failure.ErrTooLarge, format, args...)))
}

// verdict returns the outcome of a live update that is not accepted, 0 if it is.
func (x *core) verdict(b *history.UpdateReceived) (outcome int64, why *history.Failure) {
	us := x.updates
	handler := us.of(b.Name)
	if handler == nil {
		return history.UpdateUnknown, nil
	}
	if text, spoiled := us.panicked[b.ID]; spoiled {
		return history.UpdatePanicked, panicFailure(text)
	}
	if why = x.check(handler, b); why != nil {
		return history.UpdateRefused, why
	}
	return 0, nil
}

func panicFailure(text string) *history.Failure { return &history.Failure{Message: text} }

// receiveUpdate takes an update that is an event, live or stored. If the code had blocked before, takesUpdate has validated a live one;
// else decide will.
func (x *Execution) receiveUpdate(e history.Event, b *history.UpdateReceived) {
	us := x.wantUpdates()
	us.known.add(history.UpdateHash(b.ID))
	u := &openUpdate{received: e.ID, body: b, at: e.At}
	us.open = with(us.open, b.ID, u)
	us.openBytes += int(history.Size(b))
	switch {
	case !x.blocked || x.closing != nil || x.job.shut > 0:
		us.pending = append(us.pending, u)
		us.show(u, history.UpdatePending)
	case us.of(b.Name) == nil:
		x.sched.fail(&NonDeterminismError{
			EventID: e.ID, History: describe(b), Code: "nothing (it has no such handler)", Patch: x.events.patches.unknown(),
		})
	default:
		x.accept(u)
		x.handleUpdate(us.of(b.Name), u)
	}
}

// decide decides about an update that was received before, and reports whether it is accepted. On replay the verdict is that of the
// history.
func (x *core) decide(u *openUpdate) (accepted bool) {
	outcome, why := history.UpdateClosing, (*history.Failure)(nil)
	switch stored := x.events.peek().(type) {
	case nil:
		if x.closing == nil {
			outcome, why = x.verdict(u.body)
		}
	case *history.UpdateRejected:
		outcome = stored.Outcome
	default:
		outcome = 0
	}
	if outcome == 0 {
		x.accept(u)
		return true
	}
	x.reject(u, outcome, why)
	return false
}

func (x *core) reject(u *openUpdate, outcome int64, why *history.Failure) {
	if why != nil && x.events.burst.bytes+2*failureBytes(why) > maxBurstBytes {
		why = x.refusal("why update %s is rejected: the turn stores too much else", u.body.Name)
	}
	want := &history.UpdateRejected{Received: u.received, Outcome: outcome, Failure: why}
	x.events.emit(want)
	got := x.events.recorded(want).(*history.UpdateRejected)
	x.updates.end(u, x.now, got.Outcome, nil, got.Failure)
}

// decideRest decides about the updates that wait when the code has blocked for the first time. Those without a handler
// are rejected, unless the next execution gets them.
func (x *Execution) decideRest() (decided bool) {
	us := x.updates
	if x.blocked = x.blocked || x.begun; !x.blocked || us == nil || len(us.pending) == 0 || x.sched.fault != nil || x.end != nil {
		return false
	}
	if x.carries() {
		return false
	}
	for _, u := range us.pending {
		if x.sched.fault == nil {
			x.decide(u)
		}
	}
	us.pending = nil
	return true
}

// accept notes that the handler of an update begins, or waits for its turn.
func (x *core) accept(u *openUpdate) {
	x.events.emit(&history.UpdateAccepted{Received: u.received})
	x.updates.show(u, history.UpdateRunning)
	u.accepted = true
	if h := x.updates.of(u.body.Name); h != nil && h.Serial {
		u.turn = &Future{x: x, settled: len(h.queue) == 0}
		u.waited = len(h.queue) > 0
		h.queue = append(h.queue, u)
	}
}

// handleUpdate begins the run of an update. One that came before its handler is decided about when the run begins, so that its
// validator sees what those before it have changed.
func (x *core) handleUpdate(h *updateHandler, u *openUpdate) *handlerRun {
	r := &handlerRun{kind: runOfUpdate, name: u.body.Name, began: u.received, abandon: h.Abandon}
	r.done = func(err error) {
		switch {
		case u.accepted:
			x.updateEnded(r, u, err)
		case x.updates.open[u.body.ID] == u: // nothing is decided about it
			x.updates.pending = append(x.updates.pending, u)
		}
	}
	x.beginRun(r, func(s *Scope) error {
		h := x.updates.of(u.body.Name) // code may have registered the handler of the name since: its queue is the one that accept joins
		if !u.accepted && (x.closing != nil && x.closing.record.Next != nil || !x.decide(u)) {
			return nil
		}
		if h.Serial {
			defer x.leave(h, u)
		}
		if u.waited {
			r.queued = u
			_, err := s.Wait(u.turn)
			if r.queued = nil; err != nil {
				return err
			}
			if x.refusedNow(h, u) {
				return nil
			}
		} else if x.panickedBefore(u) {
			return nil
		}
		if live, turn := !x.events.replaying.Load(), x.turns; live {
			r.panicked = func(value, stack string) error {
				if x.turns != turn {
					return nil
				}
				return &UpdatePanicError{ID: u.body.ID, Name: u.body.Name, Value: value, Stack: stack}
			}
		}
		output, err := h.Run(s, u.body.Name, u.body.Input)
		u.output = output
		return err
	})
	return r
}

// leave lets the next update of a serial handler run.
func (x *core) leave(h *updateHandler, u *openUpdate) {
	h.queue = slices.DeleteFunc(h.queue, func(q *openUpdate) bool { return q == u })
	if x.job.shut == 0 {
		h.next()
	}
}

// next lets the first update of a serial handler run.
func (h *updateHandler) next() {
	if len(h.queue) > 0 && !h.queue[0].turn.settled {
		h.queue[0].turn.settle()
	}
}

// refusedNow validates an accepted update again, when its turn has come. On replay the verdict is that of the history.
func (x *core) refusedNow(h *updateHandler, u *openUpdate) bool {
	if x.events.replaying.Load() {
		stored, ok := x.events.peek().(*history.UpdateCompleted)
		if !ok || stored.Received != u.received || stored.Outcome != history.UpdateRefused && stored.Outcome != history.UpdatePanicked {
			return false
		}
		u.outcome, u.refusal = stored.Outcome, stored.Failure
		return true
	}
	if text, spoiled := x.updates.panicked[u.body.ID]; spoiled {
		u.outcome, u.refusal = history.UpdatePanicked, panicFailure(text)
		return true
	}
	if why := x.check(h, u.body); why != nil {
		u.outcome, u.refusal = history.UpdateRefused, why
		return true
	}
	return false
}

// panickedBefore reports whether the handler of an accepted update panicked in a turn that was thrown away. Another turn has stored the
// acceptance, if it ended before the code ran. On replay the verdict is that of the history.
func (x *core) panickedBefore(u *openUpdate) bool {
	if x.events.replaying.Load() {
		stored, ok := x.events.peek().(*history.UpdateCompleted)
		if !ok || stored.Received != u.received || stored.Outcome != history.UpdatePanicked {
			return false
		}
		u.outcome, u.refusal = stored.Outcome, stored.Failure
		return true
	}
	text, spoiled := x.updates.panicked[u.body.ID]
	if spoiled {
		u.outcome, u.refusal = history.UpdatePanicked, panicFailure(text)
	}
	return spoiled
}

// updateEnded records the outcome of an accepted update.
func (x *core) updateEnded(r *handlerRun, u *openUpdate, err error) {
	want := &history.UpdateCompleted{Received: u.received, Outcome: history.UpdateDone, Output: u.output}
	switch {
	case u.outcome != 0:
		want.Outcome, want.Output, want.Failure = u.outcome, nil, u.refusal
	case err == errAbandoned: //nolint:errorlint // the value itself
		want.Outcome, want.Output = history.UpdateAbandoned, nil
	case err != nil:
		want.Outcome, want.Output, want.Failure = history.UpdateFailed, nil, new(x.env.Errors.Encode(err))
	case int64(len(u.output)) > x.settings.MaxPayload:
		want.Outcome, want.Output = history.UpdateFailed, nil
		want.Failure = new(x.env.Errors.Encode(x.root.tooLarge(len(u.output), "output of update "+u.body.Name)))
	case x.events.burst.bytes+2*len(u.output) > maxBurstBytes:
		x.events.demandOneByOne()
		want.Outcome, want.Output = history.UpdateFailed, nil
		want.Failure = x.refusal("output of update %s: the turn stores too much else", u.body.Name)
	}
	if f := want.Failure; f != nil && x.events.burst.bytes+2*failureBytes(f) > maxBurstBytes {
		x.events.demandOneByOne()
		want.Failure = x.refusal("error of update %s: the turn stores too much else", u.body.Name)
	}
	if want.Outcome == history.UpdateDone && x.inputTaken() {
		want.Outcome = history.UpdateNotCarried
	}
	x.events.emit(want)
	if x.sched.fault != nil {
		return
	}
	got := x.events.recorded(want).(*history.UpdateCompleted)
	if got.Outcome == history.UpdateNotCarried {
		x.logLate(r)
	}
	x.updates.end(u, x.now, got.Outcome, got.Output, got.Failure)
}

// RefuseUpdate notes that an update came behind the end of the execution. It reports false if the next execution gets
// it.
func (x *Execution) RefuseUpdate(b *history.UpdateReceived, at int64) bool {
	if x.end == nil || x.end.Next != nil {
		return false
	}
	us := x.wantUpdates()
	if _, decided := us.changed[b.ID]; !decided && !us.known.has(b.ID) {
		us.refuse(b, at, history.UpdateEnded, nil)
	}
	return true
}

// PanickedUpdates says which updates are rejected, by ID, and why: their handlers panicked in a turn that was thrown
// away.
func (x *Execution) PanickedUpdates(panicked map[string]string) {
	if len(panicked) > 0 {
		x.wantUpdates().panicked = panicked
	}
}
