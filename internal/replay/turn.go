package replay

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// End is how an execution ended.
type End struct {
	Output     []byte
	Failure    *history.Failure
	Cancelled  bool
	Terminated bool            // from outside: nothing is left to do
	Next       []history.Event // continue-as-new: the next execution's first events
}

// Turn is what happened since the last confirmed commit.
type Turn struct {
	Events   []history.Event       // in order, messages and commands
	End      *End                  // nil: the execution continues
	Children []Child               // with End: children that still run and are cancelled, by event ID
	Values   []provider.KeyValue   // the engine's own
	Columns  []provider.Attribute  // the engine's own
	Failed   int                   // handlers of events that ended with an error
	Late     int                   // handlers that ended too late for the next execution
	Pending  int                   // with End: activities that were awaited
	Updates  []history.UpdateState // stages and outcomes that have changed
	Repeats  []history.UpdateState // of updates that came again, to store if nothing is
	State    *State                // that code has set to something else than is stored; nil: none
	Headers  int                   // of messages, that were left out
	Notes    []Note                // for the Observer
	Figures  []Figure              // that code made for the Observer
	Lost     int                   // figures that were left out
}

// Turn returns what must be committed now. The execution is dirty until Confirm: nothing of it may be shown, and if
// the commit fails it must be discarded.
func (x *Execution) Turn() Turn {
	t := Turn{Events: x.events.fresh, End: x.end, Failed: x.job.failed, Late: x.job.late, Values: x.shown(), Headers: x.events.headers.leftOut, Notes: x.notes}
	t.Figures, t.Lost = x.figures.all, x.figures.lost
	t.Updates, t.Repeats = x.updates.turn(x)
	waits, columns := x.waits.turn(x.end != nil)
	t.Values, t.Columns = append(t.Values, waits...), columns
	t.State = x.state.turn(x.events.room() - x.updates.freshBytes() - stateRoom)
	if x.end != nil {
		t.Children, t.Pending = x.pending.children(), x.pending.activities
	}
	return t
}

// Confirm says that the turn is stored.
func (x *Execution) Confirm() {
	x.events.confirm()
	x.job.failed, x.job.late, x.notes = 0, 0, nil
	if x.closing != nil {
		x.closing.stored = x.showClosing()
	}
	x.updates.forget()
	x.waits.confirm()
	x.turns++
	x.log.release()
	if refused := x.state.confirm(); refused != nil {
		x.logRefused(refused)
	}
	x.logLost(&x.figures)
	x.figures = figures{}
	x.warn()
}

// warn suggests to continue as new, once in the life of the execution. It does not warn on replay, and only when the
// events that make the history long are stored.
func (x *Execution) warn() {
	if x.warned || x.end != nil || !x.events.long() {
		return
	}
	x.warned = true
	write(func() {
		x.ownLogger().Warn("history gets long: continue as new now and then",
			"events", x.events.length, "bytes", x.events.size, "max_events", x.settings.MaxEvents, "max_bytes", x.settings.MaxBytes)
	})
}

// stop ends the execution: no coroutine continues.
func (x *Execution) stop(end *End) { x.end, x.sched.ended = end, true }

// conclude ends the execution. Handlers that go on are abandoned.
func (x *Execution) conclude(r Result) {
	x.abandonRuns()
	x.stop(&End{})
	switch {
	case r.Continue != nil:
		x.events.emit(r.Continue)
		x.end.Next = x.successor(r.Continue)
	case r.Failure != nil && r.Cancelled:
		x.events.emit(&history.ExecutionCancelled{Failure: *r.Failure})
		x.end.Failure, x.end.Cancelled = r.Failure, true
	case r.Failure != nil:
		x.events.emit(&history.ExecutionFailed{Failure: *r.Failure})
		x.end.Failure = r.Failure
	default:
		x.events.emit(&history.ExecutionCompleted{Output: r.Output})
		x.end.Output = r.Output
	}
}

// startRoom is the size of a start event without its input and the request IDs, at most.
const startRoom = 8 << 10

// successor makes the first events of the next execution: its start, then the events that were received and not read,
// in order. The start takes along the parent link and the consumed request IDs.
func (x *Execution) successor(next *history.ContinuedAsNew) []history.Event {
	started := &history.ExecutionStarted{
		Name: next.Name, CodeVersion: next.CodeVersion, Input: next.Input,
		Settings: x.settings, Parent: x.info.Parent, Continued: true, RequestID: x.startEvent.RequestID,
		Root: x.startEvent.Root, Header: x.View().Header(), HasListener: x.startEvent.HasListener,
	}
	updates, known := x.updates.carried()
	carried := append(x.unread(), updates...)
	started.Updates = known
	if x.cancelled != nil {
		carried = append(carried, *x.cancelled)
	}
	slices.SortFunc(carried, func(a, b history.Event) int { return int(a.ID - b.ID) })
	room := provider.MaxPayload - len(next.Input) - len(known) - startRoom
	if size := int(history.PreviousSize(x.startEvent.Previous)); size <= room { // else there would be no room for it for ever
		started.Previous = x.startEvent.Previous
		room -= size
	}
	started.Seen = x.requests.last(room, carried)
	events := append([]history.Event{{At: x.now, Body: started}}, carried...)
	for i := range events {
		events[i].ID = int64(i) + 1
		events[i].At, events[i].More, events[i].Newer, events[i].Anchor = x.now, false, false, ""
	}
	return events
}
