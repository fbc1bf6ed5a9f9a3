package history

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Kind is the type of an event; its number is part of the stored format.
type Kind uint8

// The kinds of events. Numbers are never reused.
const (
	// Messages.
	KindExecutionStarted  Kind = 1
	KindExecutionOpened   Kind = 2
	KindActivityCompleted Kind = 3
	KindActivityFailed    Kind = 4
	KindTimerFired        Kind = 5
	KindEventReceived     Kind = 6
	KindChildCompleted    Kind = 7
	KindChildFailed       Kind = 8
	KindCancelRequested   Kind = 9
	KindLocalEnded        Kind = 10
	KindLocalQueued       Kind = 11
	KindUpdateReceived    Kind = 12
	KindReplyReceived     Kind = 13
	KindForkPoint         Kind = 24

	// Commands.
	KindActivityScheduled       Kind = 32
	KindActivityCancelRequested Kind = 33
	KindTimerCreated            Kind = 34
	KindTimerCancelled          Kind = 35
	KindChildStarted            Kind = 36
	KindChildCancelRequested    Kind = 37
	KindSideEffectRecorded      Kind = 38
	KindPatchMarked             Kind = 39
	KindMainReturned            Kind = 40
	KindDetachedStarted         Kind = 41
	KindEventSent               Kind = 42
	KindCancelSent              Kind = 43
	KindUpdateAccepted          Kind = 44
	KindUpdateRejected          Kind = 45
	KindUpdateCompleted         Kind = 46

	// Ends.
	KindExecutionCompleted  Kind = 64
	KindExecutionFailed     Kind = 65
	KindExecutionCancelled  Kind = 66
	KindExecutionTerminated Kind = 67
	KindContinuedAsNew      Kind = 68
)

// IsMessage reports whether events of the kind arrive from outside. The other kinds are made by the orchestration's
// code, or end it.
func (k Kind) IsMessage() bool { return k < 32 || k == KindExecutionTerminated }

// kinds maps a kind to its name and constructor.
//
//nolint:gochecknoglobals // constant table
var kinds = map[Kind]struct {
	name string
	make func() Body
}{
	KindExecutionStarted:        {"ExecutionStarted", func() Body { return new(ExecutionStarted) }},
	KindExecutionOpened:         {"ExecutionOpened", func() Body { return new(ExecutionOpened) }},
	KindActivityCompleted:       {"ActivityCompleted", func() Body { return new(ActivityCompleted) }},
	KindActivityFailed:          {"ActivityFailed", func() Body { return new(ActivityFailed) }},
	KindTimerFired:              {"TimerFired", func() Body { return new(TimerFired) }},
	KindEventReceived:           {"EventReceived", func() Body { return new(EventReceived) }},
	KindChildCompleted:          {"ChildCompleted", func() Body { return new(ChildCompleted) }},
	KindChildFailed:             {"ChildFailed", func() Body { return new(ChildFailed) }},
	KindCancelRequested:         {"CancelRequested", func() Body { return new(CancelRequested) }},
	KindLocalEnded:              {"LocalEnded", func() Body { return new(LocalEnded) }},
	KindLocalQueued:             {"LocalQueued", func() Body { return new(LocalQueued) }},
	KindReplyReceived:           {"ReplyReceived", func() Body { return new(ReplyReceived) }},
	KindForkPoint:               {"ForkPoint", func() Body { return new(ForkPoint) }},
	KindActivityScheduled:       {"ActivityScheduled", func() Body { return new(ActivityScheduled) }},
	KindActivityCancelRequested: {"ActivityCancelRequested", func() Body { return new(ActivityCancelRequested) }},
	KindTimerCreated:            {"TimerCreated", func() Body { return new(TimerCreated) }},
	KindTimerCancelled:          {"TimerCancelled", func() Body { return new(TimerCancelled) }},
	KindChildStarted:            {"ChildStarted", func() Body { return new(ChildStarted) }},
	KindChildCancelRequested:    {"ChildCancelRequested", func() Body { return new(ChildCancelRequested) }},
	KindDetachedStarted:         {"DetachedStarted", func() Body { return new(DetachedStarted) }},
	KindEventSent:               {"EventSent", func() Body { return new(EventSent) }},
	KindCancelSent:              {"CancelSent", func() Body { return new(CancelSent) }},
	KindSideEffectRecorded:      {"SideEffectRecorded", func() Body { return new(SideEffectRecorded) }},
	KindUpdateReceived:          {"UpdateReceived", func() Body { return new(UpdateReceived) }},
	KindUpdateAccepted:          {"UpdateAccepted", func() Body { return new(UpdateAccepted) }},
	KindUpdateRejected:          {"UpdateRejected", func() Body { return new(UpdateRejected) }},
	KindUpdateCompleted:         {"UpdateCompleted", func() Body { return new(UpdateCompleted) }},
	KindPatchMarked:             {"PatchMarked", func() Body { return new(PatchMarked) }},
	KindMainReturned:            {"MainReturned", func() Body { return new(MainReturned) }},
	KindExecutionCompleted:      {"ExecutionCompleted", func() Body { return new(ExecutionCompleted) }},
	KindExecutionFailed:         {"ExecutionFailed", func() Body { return new(ExecutionFailed) }},
	KindExecutionCancelled:      {"ExecutionCancelled", func() Body { return new(ExecutionCancelled) }},
	KindExecutionTerminated:     {"ExecutionTerminated", func() Body { return new(ExecutionTerminated) }},
	KindContinuedAsNew:          {"ContinuedAsNew", func() Body { return new(ContinuedAsNew) }},
}

// String returns the kind's name, such as "ActivityScheduled".
func (k Kind) String() string {
	if e, ok := kinds[k]; ok {
		return e.name
	}
	return "Kind" + strconv.Itoa(int(k))
}

// ParseKind returns the kind with a name. ok is false for an unknown one.
func ParseKind(name string) (k Kind, ok bool) {
	for k, e := range kinds {
		if e.name == name {
			return k, true
		}
	}
	return 0, false
}

// KindNames returns the names of all kinds, in order of their numbers.
func KindNames() []string {
	names := make([]string, 0, len(kinds))
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		names = append(names, kinds[k].name)
	}
	return names
}

// Event is one event of a history, or a message that will become one (ID and At are
// then zero).
type Event struct {
	ID   int64 // place in the history, from 1; not part of the encoding
	At   int64 // microseconds UTC by the storage's clock; only for messages, as a command has the time of its message
	More bool  // only for messages: code did not continue before the next message was applied
	// Newer says, only for messages, that the node which applied it had a newer version of the code. One message of an
	// execution has it.
	Newer bool
	// Anchor is, only for messages without a header, the context of a span that takes the place of the execution's anchor; "": none.
	// Like a header it counts nothing in Size.
	Anchor string
	Body   Body
}

// Body is the content of an event: a pointer to one of the structs of this package.
type Body interface {
	record
	Kind() Kind
}

// Encode appends the event's encoding to dst.
func Encode(dst []byte, e Event) []byte {
	dst = append(dst, formatVersion, byte(e.Body.Kind()))
	return appendRecord(dst, &envelope{at: e.At, more: e.More, newer: e.Newer, anchor: e.Anchor, body: e.Body})
}

// Decode reads an encoded event. The event shares data's bytes. Errors wrap ErrNewer or
// ErrCorrupt. An event whose values are sealed is a *SealedError.
func Decode(id int64, data []byte) (Event, error) {
	if len(data) < 2 {
		return Event{}, fmt.Errorf("event %d has %d bytes: %w", id, len(data), ErrCorrupt)
	}
	if data[0] > formatVersion {
		return Event{}, fmt.Errorf("event %d has format %d, this release reads up to %d: %w", id, data[0], formatVersion, ErrNewer)
	}
	if data[0] == 0 {
		return Event{}, fmt.Errorf("event %d has format 0: %w", id, ErrCorrupt)
	}
	entry, ok := kinds[Kind(data[1])]
	if !ok {
		return Event{}, fmt.Errorf("event %d has unknown kind %d: %w", id, data[1], ErrNewer)
	}
	if isSealedEvent(data) {
		_, s, err := decodeSealed(id, data)
		if err == nil {
			err = fmt.Errorf("event %d (%s): %w", id, entry.name, s.err())
		}
		return Event{}, err
	}
	env := envelope{body: entry.make()}
	if err := decodeRecord(data[2:], &env, 0); err != nil {
		return Event{}, fmt.Errorf("event %d (%s): %w", id, entry.name, err)
	}
	return Event{ID: id, At: env.at, More: env.more, Newer: env.newer, Anchor: env.anchor, Body: env.body}, nil
}

// anchorField is the number of the field Anchor. No message has a field of that number in its body.
const anchorField = lastField - 5

// envelope is the time, as field 1, and the fields of the body from number 2 on. The last numbers are the flags
// newer and more.
type envelope struct {
	at     int64
	more   bool
	newer  bool
	anchor string
	body   Body
}

func (e *envelope) fields(c *codec) {
	c.integer(1, &e.at)
	e.body.fields(c)
	c.text(anchorField, &e.anchor)
	c.boolean(lastField-1, &e.newer)
	c.boolean(lastField, &e.more)
}

// sealedEnvelope is the envelope of an event whose values are sealed. It is a type of its own so that others stay small.
type sealedEnvelope struct {
	envelope

	sealed sealed
}

func (e *sealedEnvelope) fields(c *codec) {
	c.nested(sealedField, &e.sealed)
	e.envelope.fields(c)
}

// isSealedEvent reports whether the values of an encoded event are sealed.
func isSealedEvent(data []byte) bool { return len(data) > 2 && data[2] == sealedField<<1|wireBytes }

// decodeSealed reads an event without its values, and what is sealed.
func decodeSealed(id int64, data []byte) (Event, sealed, error) {
	env := sealedEnvelope{envelope: envelope{body: kinds[Kind(data[1])].make()}}
	if err := decodeRecord(data[2:], &env, 0); err != nil {
		return Event{}, sealed{}, fmt.Errorf("event %d (%v): %w", id, Kind(data[1]), err)
	}
	return Event{ID: id, At: env.at, More: env.more, Newer: env.newer, Anchor: env.anchor, Body: env.body}, env.sealed, nil
}
