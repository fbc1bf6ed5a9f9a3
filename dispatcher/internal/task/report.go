package task

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/observe"
)

// Ended is an attempt that has ended, for the Observer. It is told when its outcome is stored.
type Ended struct {
	observe.Event

	End func(observe.Event) // of its span; nil: none
}

// Stored tells the Observer that the result is stored.
func (r *Result) Stored(to *observing.Hub) {
	if r.ended != nil {
		to.End(r.ended.Event, r.ended.End)
	}
}

// lost tells the Observer that nobody took the result.
func (r *Result) lost(to *observing.Hub) {
	if r.ended == nil {
		return
	}
	r.ended.Outcome, r.ended.Total = observe.Lost, observe.NoTime
	r.Stored(to)
}

// starts notes when an attempt began, for the Observer.
func (w *Worker) starts(a *Attempt) {
	if w.Watch.On() {
		a.started = time.Now()
	}
}

// AsksToStop notes when an attempt was asked to stop.
func (a *Attempt) AsksToStop() { a.stop.CompareAndSwap(0, time.Now().UnixNano()) }

// Ended returns the end of an attempt with its outcome, and the cause of its context if that has ended; nil: nobody observes.
func (w *Worker) Ended(a *Attempt, cause error, outcome observe.Outcome) *Ended {
	if !w.Watch.On() {
		return nil
	}
	e := &Ended{Event: w.judge.event(a, outcome), End: a.span.End}
	if !a.started.IsZero() {
		e.Took = e.At.Sub(a.started)
	}
	if stop := a.stop.Load(); stop != 0 && errors.Is(cause, activity.ErrCancelled) {
		e.Cancel = max(0, e.At.Sub(time.Unix(0, stop)))
	}
	return e
}

// tell tells the Observer that an attempt has ended.
func (w *Worker) tell(a *Attempt, cause error, outcome observe.Outcome) {
	if e := w.Ended(a, cause, outcome); e != nil {
		w.Watch.End(e.Event, e.End)
	}
}

// reported tells the Observer of an attempt whose report the store has taken, or has refused.
func (w *Worker) reported(a *Attempt, cause error, outcome observe.Outcome, taken bool) {
	if !taken {
		outcome = observe.Lost
	}
	w.tell(a, cause, outcome)
}

// event returns the event of an attempt.
func (j *judge) event(a *Attempt, outcome observe.Outcome) observe.Event {
	of := history.DecodeOrigin(a.Origin)
	e := observe.Event{
		Kind: observe.Attempt, At: time.Now(), Instance: a.instanceID, Key: a.Ref.Key, Execution: a.Ref.Execution,
		Orchestration: of.Name, Version: of.CodeVersion, Trace: history.HeaderValue(of.Header, history.TraceKey),
		Activity: a.Call.Name, Queue: a.Call.Queue, EventID: a.Ref.EventID, Attempt: a.Number, Local: a.user != nil && a.user.Info.Local,
		Outcome: outcome, Took: observe.NoTime, Wait: observe.NoTime, Total: observe.NoTime, Cancel: observe.NoTime,
	}
	if a.Number == 1 && a.began != 0 {
		e.Wait = max(0, a.began.Sub(a.scheduled)-Span(a.Call.Delay))
	}
	switch outcome { //nolint:exhaustive // the others end no call
	case observe.Completed, observe.Failed, observe.TimedOut, observe.Cancelled:
		e.Total = max(0, j.Clock.Now().Sub(a.scheduled))
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
		j.Watch.Tell(observe.Event{Kind: observe.Poisoned, Activity: name, Queue: queue})
	}
}

// trace begins the span of an attempt and returns the context of its code.
func (w *Worker) trace(ctx context.Context, a *Attempt) context.Context {
	of := history.DecodeOrigin(a.Origin)
	t := observe.Trying{
		Instance: a.instanceID, Key: a.Ref.Key, Execution: a.Ref.Execution, Orchestration: of.Name, Activity: a.Call.Name, Queue: a.Call.Queue,
		EventID: a.Ref.EventID, Attempt: a.Number, Local: a.user.Info.Local, At: a.started,
		Parent: history.HeaderValue(of.Header, history.TraceKey), Header: history.DecodeHeader(of.Header),
		Before: a.earlier,
	}
	with, span := w.Watch.Attempt(ctx, t)
	if bind.AttemptOf(with) != a.user {
		return ctx // it is not derived from the one of the attempt
	}
	a.span, a.user.Trace = span, span.Context
	return with
}
