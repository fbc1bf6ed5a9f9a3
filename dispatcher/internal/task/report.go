package task

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// Ended is an attempt that has ended, for the Observer. It is reported when its outcome is stored: until then it is only noted. It has what
// the event takes from the attempt, which is out of the processor's cache by then.
type Ended struct {
	instance      string
	key           provider.UUID
	execution     int64
	orchestration string
	of            *history.Caller // nil: it has no more than the name
	activity      string
	queue         string
	eventID       int64
	number        int64
	outcome       observe.Outcome
	local         bool

	at                        time.Time
	took, wait, total, cancel time.Duration
	end                       func(observe.Event) // of its span; nil: none
}

// Report tells the Observer that the outcome is stored, and ends the span of the attempt.
func (e *Ended) Report(to *observing.Hub) { to.End(e.event(), e.end) }

func (e *Ended) event() observe.Event {
	event := observe.Event{
		Kind: observe.Attempt, At: e.at, Instance: e.instance, Key: e.key, Execution: e.execution, Orchestration: e.orchestration,
		Activity: e.activity, Queue: e.queue, EventID: e.eventID, Attempt: e.number, Local: e.local, Outcome: e.outcome,
		Took: e.took, Wait: e.wait, Total: e.total, Cancel: e.cancel,
	}
	if e.of != nil {
		event.Version, event.Trace = e.of.CodeVersion, history.HeaderValue(e.of.Header, history.TraceKey)
	}
	return event
}

// Tally is what the figures of a node count of an attempt that has ended, once its outcome is stored.
type Tally struct {
	key      provider.UUID
	activity string
	outcome  observe.Outcome
	took     time.Duration // below 0: not known
}

// Tally returns what figures count of an attempt that has just ended.
func (a *Attempt) Tally(outcome observe.Outcome) Tally {
	t := Tally{key: a.Ref.Key, activity: a.Call.Name, outcome: outcome, took: observe.NoTime}
	if !a.started.IsZero() {
		t.took = time.Since(a.started)
	}
	return t
}

// Count counts the attempt. Its outcome is stored.
func (t *Tally) Count(to *figures.Counter) { to.Attempt(&t.key, t.activity, t.outcome, t.took) }

// result returns the result of an attempt on its way to its execution.
func (w *Worker) result(a *Attempt, cause error, details []byte, body history.Body, outcome observe.Outcome) *Result {
	r := &Result{Attempt: a, details: details, Body: body, ended: w.Ended(a, cause, outcome)}
	if w.Config.Figures != nil {
		r.tally = a.Tally(outcome)
	}
	return r
}

// Stored counts a result that is stored, and tells the Observer.
func (r *Result) Stored(n *core.Node) {
	r.tally.Count(n.Config.Figures)
	r.report(n.Watch)
}

// report tells the Observer of the end of the attempt.
func (r *Result) report(to *observing.Hub) {
	if r.ended != nil {
		r.ended.Report(to)
	}
}

// lost tells the Observer that nobody took the result.
func (r *Result) lost(to *observing.Hub) {
	if r.ended == nil {
		return
	}
	r.ended.outcome, r.ended.total = observe.Lost, observe.NoTime
	r.report(to)
}

// starts notes when an attempt began, for the Observer, and what its task says of the execution.
func (w *Worker) starts(a *Attempt) {
	if !w.Watch.On() {
		if w.Config.Figures != nil {
			a.started = time.Now()
		}
		return
	}
	a.started = time.Now()
	if a.Of == nil {
		a.Of = new(history.DecodeCaller(a.Caller))
	}
}

// AsksToStop notes when an attempt was asked to stop.
func (a *Attempt) AsksToStop() { a.stop.CompareAndSwap(0, time.Now().UnixNano()) }

// Ended returns the end of an attempt with its outcome, and the cause of its context if that has ended; nil: nobody observes.
func (w *Worker) Ended(a *Attempt, cause error, outcome observe.Outcome) *Ended {
	if !w.Watch.On() {
		return nil
	}
	e := w.judge.ended(a, outcome)
	if !a.started.IsZero() {
		e.took = e.at.Sub(a.started)
	}
	if stop := a.stop.Load(); stop != 0 && errors.Is(cause, activity.ErrCancelled) {
		e.cancel = max(0, e.at.Sub(time.Unix(0, stop)))
	}
	return e
}

// reportEnd counts an attempt that has ended, and tells the Observer.
func (w *Worker) reportEnd(a *Attempt, cause error, outcome observe.Outcome) {
	if w.Config.Figures != nil {
		t := a.Tally(outcome)
		t.Count(w.Config.Figures)
	}
	if e := w.Ended(a, cause, outcome); e != nil {
		e.Report(w.Watch)
	}
}

// reported tells the Observer of an attempt whose report the store has taken, or has refused.
func (w *Worker) reported(a *Attempt, cause error, outcome observe.Outcome, taken bool) {
	if !taken {
		outcome = observe.Lost
	}
	w.reportEnd(a, cause, outcome)
}

// ended returns the end of an attempt, without the times that only its node knows.
func (j *judge) ended(a *Attempt, outcome observe.Outcome) *Ended {
	of := a.Of
	if of == nil { // it has not begun here
		of = new(history.DecodeCaller(a.Caller))
	}
	e := &Ended{
		instance: a.instanceID, key: a.Ref.Key, execution: a.Ref.Execution, orchestration: of.Name, activity: a.Call.Name, queue: a.Call.Queue,
		eventID: a.Ref.EventID, number: a.Number, outcome: outcome, local: a.user != nil && a.user.Info.Local, at: time.Now(),
		took: observe.NoTime, wait: observe.NoTime, total: observe.NoTime, cancel: observe.NoTime, end: a.span.End,
	}
	if of.CodeVersion != "" || len(of.Header) > 0 {
		e.of = of
	}
	if a.Number == 1 && a.began != 0 {
		e.wait = max(0, a.began.Sub(a.scheduled)-engine.Span(a.Call.Delay))
	}
	switch outcome { //nolint:exhaustive // the others end no call
	case observe.Completed, observe.Failed, observe.TimedOut, observe.Cancelled:
		e.total = max(0, j.Clock.Now().Sub(a.scheduled))
	}
	return e
}

// FailedFor returns the outcome of an attempt that failed for good.
func FailedFor(a *Attempt, cause error) observe.Outcome {
	switch {
	case errors.Is(cause, activity.ErrCancelled) || a.Unwanted():
		return observe.Cancelled
	case errors.Is(cause, activity.ErrTimeout):
		return observe.TimedOut
	default:
		return observe.Failed
	}
}

// poisoned tells the Observer that a task was set aside.
func (j *judge) poisoned(queue, name string) {
	if j.Watch.On() {
		j.Watch.Report(observe.Event{Kind: observe.Poisoned, Activity: name, Queue: queue})
	}
}

// trace begins the span of an attempt and returns the context of its code.
func (w *Worker) trace(ctx context.Context, a *Attempt) context.Context {
	of := a.Of
	t := observe.Trying{
		Instance: a.instanceID, Key: a.Ref.Key, Execution: a.Ref.Execution, Orchestration: of.Name, Activity: a.Call.Name, Queue: a.Call.Queue,
		EventID: a.Ref.EventID, Attempt: a.Number, Local: a.user.Info.Local, At: a.started,
		Parent: history.HeaderValue(of.Header, history.TraceKey), Header: history.DecodeHeader(of.Header),
		Before: a.previousSpan,
	}
	with, span := w.Watch.Attempt(ctx, t)
	if bind.AttemptOf(with) != a.user {
		return ctx // it is not derived from the one of the attempt
	}
	a.span, a.user.Trace = span, span.Context
	return with
}
