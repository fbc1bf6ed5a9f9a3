package replay

import (
	"github.com/perdure/perdure/internal/history"
)

// MaxHeaders bounds the bytes of the headers that one execution stores, and of those that one commit adds to what it sends.
const MaxHeaders = 1 << 20

// headerBytes counts the headers of an execution's messages. Code never sees the figures.
type headerBytes struct {
	bytes   int // of headers in the history
	leftOut int // headers left out since the last confirmed commit
}

// admitHeader counts the header of a message, or leaves it out of a live one if the execution has too many. Those of a
// stored one were admitted before.
func (r *recorder) admitHeader(header *[]byte) {
	size := len(*header)
	if size == 0 {
		return
	}
	if r.headers.bytes+size > MaxHeaders && !r.replaying.Load() {
		r.headers.leftOut++
		*header = nil
		return
	}
	r.headers.bytes += size
}

// admitAnchor returns the anchor of a live message, or "" if the execution has too many headers.
func (r *recorder) admitAnchor(anchor string) string {
	if r.headers.bytes+len(anchor) > MaxHeaders {
		r.headers.leftOut++
		return ""
	}
	return anchor
}

// Header returns the header of the start, as it is stored. Messages, starts and tasks of the execution take it along.
func (v View) Header() []byte {
	if v.x.startEvent == nil {
		return nil
	}
	if v.x.header != nil {
		return v.x.header
	}
	return v.x.startEvent.Header
}

// noteTrace takes over the first anchor, from the header of the start.
func (x *core) noteTrace(header []byte, at int64) {
	trace := history.HeaderValue(header, history.TraceKey)
	if trace == "" {
		return
	}
	x.trace, x.traceAt = trace, at
	x.caller, x.from, x.log.logger = nil, nil, nil // they have the one before
}

// takeAnchor takes over an anchor that comes after the first one. Messages that were carried over bring those of the execution before.
func (x *Execution) takeAnchor(trace string, at int64) {
	if trace == "" || !x.opened {
		return
	}
	x.trace, x.traceAt = trace, at
	x.caller, x.from, x.log.logger = nil, nil, nil // they have the one before
	x.header = history.WithHeaderValue(x.startEvent.Header, history.TraceKey, trace)
}

// Trace returns the context of the anchor, and when that began, microseconds UTC; "" for none.
func (v View) Trace() (context string, at int64) { return v.x.trace, v.x.traceAt }

// StartedAt returns when the execution began, microseconds UTC.
func (v View) StartedAt() int64 { return v.x.startedAt }

// EncodedCaller returns what the tasks of the execution say of it, as it is stored.
func (v View) EncodedCaller() []byte {
	if v.x.caller == nil {
		v.x.caller = history.EncodeCaller(history.Caller{Name: v.x.info.Name, CodeVersion: v.x.info.CodeVersion, Header: v.Header()})
	}
	return v.x.caller
}

// Caller returns what EncodedCaller encodes. Nobody changes it.
func (v View) Caller() *history.Caller {
	if v.x.from == nil {
		v.x.from = &history.Caller{Name: v.x.info.Name, CodeVersion: v.x.info.CodeVersion, Header: v.Header()}
	}
	return v.x.from
}

// Root returns the topmost ancestor of a child that the execution starts, if that is not the execution's own instance.
func (v View) Root() history.Root {
	if v.x.info.Parent.Key == [16]byte{} {
		return history.Root{}
	}
	if root := v.x.startEvent.Root; root.ID != "" {
		return root
	}
	return history.Root{Key: v.x.info.Parent.Key, ID: v.x.info.Parent.ID}
}

// Began returns when the first execution of the instance began, microseconds UTC; 0: not known.
func (v View) Began() int64 { return v.x.began() }

func (x *core) began() int64 {
	if x.startEvent.Continued {
		return x.startEvent.Began
	}
	return x.startedAt
}

// Facts are what code may know of its execution. All of them follow from events, so a replay sees the same.
type Facts struct {
	Started   int64 // microseconds UTC, of the start event
	Began     int64 // of the first execution; 0: not known
	Root      history.Root
	Request   string            // request ID of the start
	Length    int64             // events so far
	Size      int64             // their bytes, as history.Size counts
	Suggested bool              // to continue as new
	Previous  *history.Previous // how the run before has ended; nil: there is none
}

// Facts returns what the code may know of its execution at this point.
func (s *Scope) Facts() Facts {
	x := s.x
	x.sched.checkReader()
	root, as := x.startEvent.Root, s.Info()
	if x.as != nil {
		root = x.as.Root
	}
	switch {
	case root.ID != "":
	case as.Parent.Key != [16]byte{}:
		root = history.Root{Key: as.Parent.Key, ID: as.Parent.ID}
	default:
		root = history.Root{Key: as.Key, ID: as.ID}
	}
	return Facts{
		Started: x.startedAt, Began: x.began(), Root: root, Request: x.startEvent.RequestID, Length: x.events.length, Size: x.events.size, Suggested: x.events.long(),
		Previous: x.startEvent.Previous,
	}
}
