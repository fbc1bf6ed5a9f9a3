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
	Events   []history.Event // in order, messages and commands
	End      *End            // nil: the execution goes on
	Children []Child         // with End: children that still run, by event ID
	Pending  int             // with End: activities that were awaited
}

// Child names a child instance by the event that started it.
type Child struct {
	EventID int64
	Key     [16]byte
}

// Turn answers what must be committed now. The execution is dirty until Confirm: nothing
// of it may be shown, and if the commit fails it must be thrown away.
func (x *Execution) Turn() Turn {
	t := Turn{Events: x.fresh, End: x.end}
	if x.end != nil {
		t.Children, t.Pending = x.openChildren(), x.activities
	}
	return t
}

// openChildren lists the children whose end is still awaited, by event ID.
func (x *Execution) openChildren() []Child {
	var children []Child
	for id, f := range x.pending {
		if f.child != ([16]byte{}) {
			children = append(children, Child{EventID: id, Key: f.child})
		}
	}
	slices.SortFunc(children, func(a, b Child) int { return int(a.EventID - b.EventID) })
	return children
}

// Ended tells whether the execution's code has come to its end.
func (x *Execution) Ended() bool { return x.end != nil }

// Confirm says that the turn is stored.
func (x *Execution) Confirm() {
	x.fresh, x.freshBytes, x.burst = nil, 0, burst{}
	x.tell()
	x.warn()
}

// finish records how the main function ended. Other coroutines do not go on.
func (x *Execution) finish(r Result) {
	x.end = &End{}
	switch {
	case r.Continue != nil:
		if r.Continue.Name == "" {
			r.Continue.Name, r.Continue.CodeVersion = x.info.Name, x.info.CodeVersion
		}
		x.emit(r.Continue)
		x.end.Next = x.successor(r.Continue)
	case r.Failure != nil && r.Cancelled:
		x.emit(&history.ExecutionCancelled{Failure: *r.Failure})
		x.end.Failure, x.end.Cancelled = r.Failure, true
	case r.Failure != nil:
		x.emit(&history.ExecutionFailed{Failure: *r.Failure})
		x.end.Failure = r.Failure
	default:
		x.emit(&history.ExecutionCompleted{Output: r.Output})
		x.end.Output = r.Output
	}
}

// startRoom is what a start event needs beside its input and the request IDs.
const startRoom = 8 << 10

// successor makes the first events of the next execution: its start, then what was
// received and not read, in the order of its coming. The parent link and the consumed
// request IDs go along.
func (x *Execution) successor(next *history.ContinuedAsNew) []history.Event {
	started := &history.ExecutionStarted{
		Name: next.Name, CodeVersion: next.CodeVersion, Input: next.Input,
		Settings: x.settings, Parent: x.info.Parent, Continued: true, RequestID: x.startEvent.RequestID,
	}
	var carried []history.Event
	for _, m := range x.mailboxOrder {
		carried = append(carried, m.unread...)
	}
	if x.cancelled != nil {
		carried = append(carried, *x.cancelled)
	}
	slices.SortFunc(carried, func(a, b history.Event) int { return int(a.ID - b.ID) })
	carriedIDs := make(map[string]bool, len(carried))
	for _, e := range carried {
		carriedIDs[requestID(e.Body)] = true
	}
	room := provider.MaxPayload - len(next.Input) - startRoom
	for _, id := range slices.Backward(x.seenOrder) {
		// A carried event is remembered again when it is applied.
		if carriedIDs[id] {
			continue
		}
		if room -= len(id) + 4; room < 0 {
			break // the oldest are forgotten, as beyond maxSeen
		}
		started.Seen = append(started.Seen, []byte(id))
	}
	slices.Reverse(started.Seen)
	events := append([]history.Event{{At: x.now, Body: started}}, carried...)
	for i := range events {
		events[i].ID = int64(i) + 1
		events[i].At = x.now
	}
	return events
}

func requestID(b history.Body) string {
	switch b := b.(type) {
	case *history.EventReceived:
		return b.RequestID
	case *history.CancelRequested:
		return b.RequestID
	default:
		return ""
	}
}
