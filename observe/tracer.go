package observe

import (
	"context"
	"time"
)

// Tracer is an Observer that makes spans. Its methods are called by the goroutine that does the work, which waits for them: they must
// be quick. They are called outside of all locks. If one panics, there is no span.
//
// An execution has an anchor: the span of its first turn. Its context is stored with that turn, in a header, and passed on to
// activities and children. So every node knows it, whatever it has in memory.
type Tracer interface {
	Observer
	// Send is called before a client stores a start, an event, an update or a request to cancel. The header goes along with the
	// message. It has at most the keys "traceparent", "tracestate" and "baggage". end is called with the outcome of the call.
	Send(ctx context.Context, s Sending) (header map[string]string, end func(error))
	// Anchor begins the anchor of an execution. End of the span is called when the turn is stored, never otherwise.
	Anchor(a Anchoring) Span
	// Attempt begins the span of an attempt of an activity. The context is derived from ctx and becomes that of its code. End of
	// the span is called when the outcome of the attempt is stored, with its event.
	Attempt(ctx context.Context, a Trying) (context.Context, Span)
}

// Span is a span that has begun.
type Span struct {
	// Context names the span to others, as a header "traceparent" does, followed by a blank and the "tracestate" if there is one;
	// at most 640 bytes. "": there is no span.
	Context string
	// End ends the span at the time of the event. It is called at most once, on the goroutine of the events; nil: not wanted.
	End func(e Event)
}

// Sending is a message that a client is about to send.
type Sending struct {
	Kind          string // "start", "event", "update" or "cancel"
	Orchestration string // of a start
	Name          string // of an event or update
	Instance      string // ID; "": not known yet
}

// Anchoring is an execution that gets an anchor.
type Anchoring struct {
	Instance      string
	Key           [16]byte
	Execution     int64
	Orchestration string
	Version       string
	At            time.Time         // when the turn began
	Parent        string            // context of the anchor of the parent; "": none
	Header        map[string]string // of the start
	Before        string            // context of the anchor that this one takes the place of, which becomes a link; "": it is the first
}

// Trying is an attempt that is about to begin.
type Trying struct {
	Instance      string
	Key           [16]byte
	Execution     int64
	Orchestration string // "": not known
	Activity      string
	Queue         string
	EventID       int64 // of the call; 0 for a local activity
	Attempt       int64
	Local         bool
	At            time.Time
	Parent        string            // context of the anchor of the execution; "": none
	Header        map[string]string // of the start
	// Before is the context of the span of the attempt before, which becomes a link; "": there was none, or it is not known: it was lost
	// with its node, or the store does not allow level 10 yet.
	Before string
}
