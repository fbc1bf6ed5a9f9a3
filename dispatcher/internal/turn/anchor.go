package turn

import (
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// rollover is the age at which an anchor gets a successor, in a trace of its own.
const rollover = time.Hour

// anchorer makes the anchors of executions. The context of an anchor goes into the header of a message before the execution applies it,
// so that the commit of the turn stores both. Its span ends with the commit, or never.
type anchorer struct{ *core.Node }

// start gives an execution its first anchor. It changes the start message.
func (an anchorer) start(r *run, info replay.Info, b *history.ExecutionStarted) {
	if !an.Watch.Traces() {
		return
	}
	b.Header = an.anchor(r, info, b, b.Header, history.TraceKey, observe.Anchoring{Parent: history.HeaderValue(b.Header, history.TraceKey)})
}

// next gives the execution that continues as new its anchor. It changes the start event.
func (an anchorer) next(r *run, info replay.Info, before string, b *history.ExecutionStarted) {
	if !an.Watch.Traces() {
		return
	}
	info.Execution++
	b.Header = an.anchor(r, info, b, b.Header, history.TraceKey, observe.Anchoring{Before: before})
}

// message gives an execution another anchor if the last one is old. It changes the message: its header or, if it can have none, its
// anchor, which needs a store that allows the level. The caller then calls keep.
func (an anchorer) message(r *run, x *replay.Execution, e *history.Event) {
	if !an.Watch.Traces() {
		return
	}
	before, at := x.View().Trace()
	if before == "" || time.Duration(e.At-at)*time.Microsecond < rollover {
		return
	}
	info := x.View().Info()
	a := observe.Anchoring{Before: before}
	of := &history.ExecutionStarted{Name: info.Name, CodeVersion: info.CodeVersion}
	var h *[]byte
	switch b := e.Body.(type) {
	case *history.EventReceived:
		h = &b.Header
	case *history.UpdateReceived:
		h = &b.Header
	case *history.CancelRequested:
		h = &b.Header
	default:
		if an.Config.Level.Allowed() >= replay.LevelOfAnchors {
			span := an.begin(info, of, nil, a)
			if e.Anchor = span.Context; e.Anchor != "" {
				r.anchors = append(r.anchors, span)
			}
		}
		return
	}
	*h = an.anchor(r, info, of, *h, history.AnchorKey, a)
}

// keep drops the last anchor unless the execution has taken it over: its message meant nothing to the execution, or its context found no
// room.
func (an anchorer) keep(r *run, x *replay.Execution) {
	n := len(r.anchors)
	if n == 0 {
		return
	}
	if last, _ := x.View().Trace(); r.anchors[n-1].Context != last {
		r.anchors = r.anchors[:n-1]
	}
}

// begin begins the span of an anchor. stored is the header of the message.
func (an anchorer) begin(info replay.Info, of *history.ExecutionStarted, stored []byte, a observe.Anchoring) observe.Span {
	a.Instance, a.Key, a.Execution, a.At = info.ID, info.Key, info.Execution, time.Now()
	a.Orchestration, a.Version, a.Header = of.Name, of.CodeVersion, history.DecodeHeader(stored)
	return an.Watch.Anchor(a)
}

// anchor begins an anchor and returns the header with its context, or as it is if there is no anchor or no room for it.
func (an anchorer) anchor(
	r *run, info replay.Info, of *history.ExecutionStarted, stored []byte, key string, a observe.Anchoring,
) (with []byte) {
	if an.Config.Level.Allowed() < replay.LevelOfHandlers {
		return stored
	}
	span := an.begin(info, of, stored, a)
	if span.Context == "" {
		return stored
	}
	if with = history.WithHeaderValue(stored, key, span.Context); len(with) > header.MaxBytes {
		an.Count.HeadersLeftOut.Add(1)
		return stored
	}
	r.anchors = append(r.anchors, span)
	return with
}

// first gives an execution that is not stored yet its first anchor.
func (an anchorer) first(r *run, req *provider.CreateRequest) func(*history.Event) {
	return func(e *history.Event) {
		if b, ok := e.Body.(*history.ExecutionStarted); ok {
			an.start(r, replay.Info{ID: req.ID, Key: req.Key, Execution: 1}, b)
		}
	}
}

// anchors gives the messages of a turn their anchors.
type anchors struct {
	anchorer

	r *run
}

// Start implements [engine.Anchors].
func (an anchors) Start(x *replay.Execution, b *history.ExecutionStarted) {
	an.start(an.r, x.View().Info(), b)
}

// Message implements [engine.Anchors].
func (an anchors) Message(x *replay.Execution, e *history.Event) { an.message(an.r, x, e) }

// Keep implements [engine.Anchors].
func (an anchors) Keep(x *replay.Execution) { an.keep(an.r, x) }
