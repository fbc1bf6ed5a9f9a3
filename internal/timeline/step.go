package timeline

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
)

// rowKinds are the kinds of rows of the kinds of events that have one.
//
//nolint:gochecknoglobals // constant table
var rowKinds = map[string]string{
	"ActivityScheduled": KindActivity, "TimerCreated": KindTimer, "ChildStarted": KindChild, "UpdateReceived": KindUpdate,
	"EventReceived": KindEvent, "LocalEnded": KindLocal,
	"ActivityCompleted": KindActivity, "ActivityFailed": KindActivity, "TimerFired": KindTimer, "TimerCancelled": KindTimer,
	"ChildCompleted": KindChild, "ChildFailed": KindChild, "UpdateRejected": KindUpdate, "UpdateCompleted": KindUpdate,
	"ExecutionStarted": KindMark, "ForkPoint": KindMark, "CancelRequested": KindMark, "ContinuedAsNew": KindMark, "ExecutionCompleted": KindMark,
	"ExecutionFailed": KindMark, "ExecutionCancelled": KindMark, "ExecutionTerminated": KindMark, "PatchMarked": KindMark,
}

// stepRow returns the row of a step, and false if it has none.
func (b *builder) stepRow(s *client.HistoryStep) (Row, bool) {
	kind, shown := rowKinds[s.Kind]
	if !shown {
		return Row{}, false
	}
	r := Row{Kind: kind, Name: s.Name, Event: s.ID, Began: s.Time, Count: 1, State: Done, Instance: s.Instance, Key: s.InstanceKey}
	switch {
	case kind == KindMark:
		b.mark(&r, s)
	case s.Kind == "EventReceived" || s.Kind == "LocalEnded":
		r.Point, r.Attempt, r.Failure = true, s.Attempt, b.failure(s.Failure)
		if s.Failure != nil {
			r.State = Failed
		}
	case s.Ref != 0: // an end whose beginning was not read
		r.Event, r.EndEvent, r.Began, r.Ended = s.Ref, s.ID, time.Time{}, s.Time
		r.Name, r.Detail = "begun before", "its beginning was not read"
		b.end(&r, &s.HistoryEvent)
	case s.End != nil:
		r.EndEvent, r.Ended = s.End.ID, s.End.Time
		b.end(&r, s.End)
	default:
		b.unended(&r)
	}
	if kind == KindTimer && s.Kind == "TimerCreated" {
		r.Name = Length(s.Duration)
		if r.State == Open {
			r.Next = s.Due
		}
	}
	return r, true
}

// mark fills in the row of a moment of the execution.
func (b *builder) mark(r *Row, s *client.HistoryStep) {
	r.Point = true
	switch s.Kind {
	case "ExecutionStarted":
		r.Name, r.Detail = "started", s.Name
		if s.Continued {
			r.Name = "continued from the execution before"
		}
		if s.Duration > 0 {
			r.Detail += fmt.Sprintf(", delayed by %s", Length(s.Duration))
		}
	case "ForkPoint":
		r.Name = "reset"
		if o := s.Origin; o != nil {
			if o.Key != b.src.Of.Key {
				r.Name, r.Instance, r.Key = "forked", o.ID, o.Key
			}
			r.Detail = fmt.Sprintf("from execution %d at event %d", o.Execution, o.EventID)
		}
	case "CancelRequested":
		r.Name, r.State = "cancellation requested", GivenUp
	case "ContinuedAsNew":
		r.Name, r.Detail = "continued as new", s.Name
	case "ExecutionCompleted":
		r.Name = "completed"
	case "ExecutionFailed":
		r.Name, r.State, r.Failure = "failed", Failed, b.failure(s.Failure)
	case "ExecutionCancelled":
		r.Name, r.State = "cancelled", GivenUp
	case "ExecutionTerminated":
		r.Name, r.State = "terminated", GivenUp
	case "PatchMarked":
		r.Name, r.Detail = "patch", s.Name
	}
}

// end fills in how a step ended.
func (b *builder) end(r *Row, e *client.HistoryEvent) {
	given, asked := b.givenUp[r.Event]
	r.Failure = b.failure(e.Failure)
	switch {
	case e.Kind == "TimerCancelled", asked && e.Failure != nil && e.Failure.Code == "cancelled":
		r.State = GivenUp
	case e.Failure != nil:
		r.State = Failed
	}
	if asked && r.State != GivenUp {
		r.Detail = join(r.Detail, "was asked to cancel at "+b.offset(given))
	}
	if r.Kind == KindActivity {
		r.Attempt = e.Attempt
		b.attempts(r, e.Attempts, r.Ended, e.Failure != nil)
		return
	}
	if !r.Began.IsZero() {
		r.Spans = []Span{{Kind: SpanWhole, Began: r.Began, Ended: r.Ended, Failed: r.State == Failed}}
	}
}

// attempts fills in the spans of an activity whose last listed attempt ended at a time; zero: it has not ended.
func (b *builder) attempts(r *Row, list []client.Attempt, ended time.Time, failed bool) {
	if len(list) == 0 {
		if !r.Began.IsZero() && !ended.IsZero() {
			r.Spans = []Span{{Kind: SpanWhole, Began: r.Began, Ended: ended, Attempt: r.Attempt, Failed: failed}}
		}
		if r.Attempt > 1 {
			r.NotKept = r.Attempt
		}
		return
	}
	r.NotKept = max(0, list[0].Number-1)
	before, kind := r.Began, SpanQueued
	if r.NotKept > 0 {
		kind = SpanNotKept
	}
	for i := range list {
		a := &list[i]
		if !before.IsZero() && a.Began.After(before) {
			r.Spans = append(r.Spans, Span{Kind: kind, Began: before, Ended: a.Began})
		}
		began := a.Began
		if began.IsZero() {
			began = before
		}
		r.Spans = append(r.Spans, Span{
			Kind: SpanAttempt, Began: began, Ended: a.Ended, Attempt: a.Number, Node: a.Node, Failed: a.Failure != "", Failure: shown(a.Failure, b.opts.Part),
		})
		before, kind = a.Ended, SpanBackoff
	}
}

// unended fills in a step that has no end in what was read.
func (b *builder) unended(r *Row) {
	a := b.pending[r.Event]
	switch {
	case a != nil:
		b.pendingActivity(r, a)
		return
	case b.src.notRead() > 0 && r.Event <= int64(len(b.src.Head)) && !b.waited[r.Event]:
		r.State, r.Detail = Unknown, "its end was not read"
	case !b.src.ongoing():
		r.State, r.Detail = GivenUp, "not ended when the execution was over"
		r.Ended = b.line.End
	default:
		r.State = Open
	}
	span := Span{Kind: SpanWaiting, Began: r.Began, Ended: r.Ended}
	if r.State == Unknown {
		span.Kind = SpanUnknown
	}
	r.Spans = []Span{span}
	if given, asked := b.givenUp[r.Event]; asked {
		r.Detail = join(r.Detail, "asked to cancel at "+b.offset(given))
	}
}

// pendingActivity fills in an activity that has not ended.
func (b *builder) pendingActivity(r *Row, a *client.Activity) {
	r.State, r.Attempt, r.Failure = Open, a.Attempt, b.failure(a.Failure)
	if r.Began.IsZero() {
		r.Began = a.ScheduledAt
	}
	b.attempts(r, a.Attempts, time.Time{}, false)
	since := r.Began
	if n := len(a.Attempts); n > 0 {
		since = a.Attempts[n-1].Ended
	} else if a.Attempt > 1 {
		r.NotKept = a.Attempt - 1
	}
	span := Span{Began: since, Attempt: a.Attempt, Node: a.Owner}
	switch {
	case a.State == client.ActivityRunning:
		span.Kind = SpanRunning
		r.Detail = fmt.Sprintf("attempt %d runs on %s; when it began is not stored", a.Attempt, a.Owner)
	case a.State == client.ActivityPaused:
		span.Kind, r.Detail = SpanPaused, "paused"
	case a.State == client.ActivityParked:
		span.Kind, r.Detail = SpanParked, "waits to be ended by its token"
	case a.NotBefore.After(b.src.Of.AsOf):
		span.Kind, r.Next = SpanBackoff, a.NotBefore
	default:
		span.Kind, r.Detail = SpanQueued, fmt.Sprintf("queued in %q", a.Queue)
	}
	if a.Deliveries > 1 {
		r.Detail = join(r.Detail, fmt.Sprintf("delivered %d times", a.Deliveries))
	}
	r.Spans = append(r.Spans, span)
}

// join joins two texts, of which each may be empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
