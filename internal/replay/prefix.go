package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// Branch says where and how an execution opens from the history of another one, its origin.
type Branch struct {
	Origin  Info
	New     Info
	Event   int64           // of the origin: the first one that is not copied
	Opening history.Opening // NewInput, Input, Reason and RequestID count
	// AsOrigin lets the code see the identity of the origin up to the point. It is for code that has acted by that: its history does not
	// replay otherwise. Other code sees the new identity from the beginning, as in earlier releases.
	AsOrigin bool
}

// Points returns the events before which an execution can open that are nearest to event at: the last one up to it and the first one
// after it. 0 is none. An execution opens directly before a message, or behind a history that has no end.
func Points(events []history.Event, at int64) (before, after int64) {
	for id := int64(1); id <= int64(len(events))+1; id++ {
		if !isPoint(events, id) {
			continue
		}
		if id > at {
			return before, id
		}
		before = id
	}
	return before, 0
}

func isPoint(events []history.Event, id int64) bool {
	if n := int64(len(events)); id > n {
		return id == n+1 && n > 0 && events[n-1].Body.Kind() < history.KindExecutionCompleted
	}
	return id > 0 && events[id-1].Body.Kind().IsMessage()
}

// Prefix returns the history with which the branch opens: what stands before the event, with another start event, and the ForkPoint.
// The origin's events stay as they are. The event must be one of Points.
func (b *Branch) Prefix(events []history.Event) []history.Event {
	prefix := slices.Clone(events[:max(1, b.Event-1)])
	started := *prefix[0].Body.(*history.ExecutionStarted)
	var seen *history.Identity
	if b.AsOrigin {
		seen = &history.Identity{Key: b.Origin.Key, ID: b.Origin.ID, Execution: b.Origin.Execution, Parent: started.Parent, Root: started.Root}
	}
	if started.Seed == nil {
		seed := b.Origin.seed()
		started.Seed = seed[:]
	}
	if b.New.Key != b.Origin.Key {
		// Code sees the bytes of its history, so the texts stay as long as they were. Nobody asks for this request ID: the row has that of the fork.
		started.RequestID += started.Parent.ID
		started.Parent, started.Root, started.HasListener = history.Parent{}, history.Root{}, false
	}
	if b.Opening.NewInput {
		started.Input = b.Opening.Input
	}
	prefix[0].Body = &started
	if b.Event == 1 { // not even the start is copied: the code must not run before the ForkPoint
		prefix[0].More, started.Delay = !started.Continued, 0
	}
	var updates []byte
	for n := len(prefix) - 1; prefix[n].Body.Kind() == history.KindForkPoint; n-- { // no code has run behind it
		point := prefix[n].Body.(*history.ForkPoint)
		updates = append(updates, point.Updates...)
		if point.Seen != nil { // the code before has acted by this one
			seen = point.Seen
		}
		prefix = prefix[:n]
	}
	others := int64(len(prefix))
	if b.New.Key == b.Origin.Key {
		others = min(others, LastOfOtherInstance(events))
	}
	seed := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("fork"), b.New.Key[:]...), uint64(b.New.Execution)))
	point := history.Event{ID: int64(len(prefix)) + 1, Body: &history.ForkPoint{
		Seed: seed[:], Key: b.Origin.Key, ID: b.Origin.ID, Execution: b.Origin.Execution, Event: b.Event,
		Reason: b.Opening.Reason, RequestID: b.Opening.RequestID, OtherInstance: others, Updates: updates, Seen: seen,
	}}
	for _, e := range prefix {
		if e.Body.Kind().IsMessage() { // code that was held stays so
			point.At, point.More = max(point.At, e.At), e.More
		}
	}
	return append(prefix, point)
}

// LastOfOtherInstance returns the last event of a history that another instance has made: the origin of a fork. The children up to there are not
// those of the instance. 0: there is none.
func LastOfOtherInstance(events []history.Event) int64 {
	for _, e := range slices.Backward(events) {
		if point, ok := e.Body.(*history.ForkPoint); ok {
			return point.OtherInstance
		}
	}
	return 0
}

// OfOtherInstance reports whether another instance has made an event of the execution. The instance must leave the child that it started alone.
func (v View) OfOtherInstance(event int64) bool {
	return v.x.fork != nil && event <= v.x.fork.OtherInstance
}

// identify finds the identity that the code sees up to the next ForkPoint of the stored history that names one.
func (x *core) identify() {
	x.as = nil
	for _, e := range x.events.script[x.events.position:] {
		if point, ok := e.Body.(*history.ForkPoint); ok && point.Seen != nil {
			x.as = point.Seen
			return
		}
	}
}

// branch begins the part of a history that the origin does not have.
func (x *core) branch(b *history.ForkPoint) {
	x.fork = b
	x.identify()
	if len(b.Updates) > 0 {
		x.wantUpdates().known.addAll(b.Updates)
	}
	if x.random != nil {
		x.random.reseed(x.seed())
	}
}

// seed returns that of random numbers at the present position.
func (x *core) seed() (seed [32]byte) {
	stored := x.startEvent.Seed
	if x.fork != nil {
		stored = x.fork.Seed
	}
	if stored == nil {
		return x.info.seed()
	}
	if len(stored) != len(seed) {
		x.sched.fail(fmt.Errorf("a seed has %d bytes: %w", len(stored), history.ErrCorrupt))
	}
	copy(seed[:], stored)
	return seed
}

// Awaited is an operation that code waits for, by the event that began it.
type Awaited struct {
	EventID int64
	Ending  bool // an activity or child that was asked to end, and whose end is awaited
	Start   bool // a child, the reply to whose start is awaited
}

// Awaited returns the activities, timers and children that code waits for, by event ID.
func (v View) Awaited() []Awaited {
	all := make([]Awaited, 0, len(v.x.pending.futures))
	for id, f := range v.x.pending.futures {
		all = append(all, Awaited{EventID: id, Ending: f.askedToEnd, Start: f.begun != nil && f.begun.reply != nil && f.asked})
	}
	slices.SortFunc(all, func(a, b Awaited) int { return int(a.EventID - b.EventID) })
	return all
}

// Opened reports whether the code may run: the start of a continued execution waits for its ExecutionOpened.
func (v View) Opened() bool { return v.x.opened }

// Requests returns the IDs of the requests that the instance has consumed and still remembers, the newest last. They include those of
// earlier executions.
func (v View) Requests() []string { return slices.Clone(v.x.requests.order) }
