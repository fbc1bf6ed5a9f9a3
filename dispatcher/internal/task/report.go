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

// Ended is an attempt that has ended, for the Observer. It is told when its outcome is stored: until then it is only noted, since the
// result waits for a commit.
type Ended struct {
	attempt *Attempt
	outcome observe.Outcome
	at      time.Time
	total   time.Duration
	cancel  time.Duration
}

// Tell tells the Observer that the outcome is stored, and ends the span of the attempt.
func (e *Ended) Tell(to *observing.Hub) {
	a := e.attempt
	told := a.event(e.outcome, e.at)
	told.Total, told.Cancel = e.total, e.cancel
	if !a.started.IsZero() {
		told.Took = e.at.Sub(a.started)
	}
	to.End(told, a.span.End)
}

// Stored tells the Observer that the result is stored.
func (r *Result) Stored(to *observing.Hub) {
	if r.ended != nil {
		r.ended.Tell(to)
	}
}

// lost tells the Observer that nobody took the result.
func (r *Result) lost(to *observing.Hub) {
	if r.ended == nil {
		return
	}
	r.ended.outcome, r.ended.total = observe.Lost, observe.NoTime
	r.Stored(to)
}

// starts notes when an attempt began, for the Observer, and what its task says of the execution.
func (w *Worker) starts(a *Attempt) {
	if !w.Watch.On() {
		return
	}
	a.started = time.Now()
	if a.Of == nil {
		a.Of = new(history.DecodeOrigin(a.Origin))
	}
}

// AsksToStop notes when an attempt was asked to stop.
func (a *Attempt) AsksToStop() { a.stop.CompareAndSwap(0, time.Now().UnixNano()) }

// Ended returns the end of an attempt with its outcome, and the cause of its context if that has ended; nil: nobody observes.
func (w *Worker) Ended(a *Attempt, cause error, outcome observe.Outcome) *Ended {
	if !w.Watch.On() {
		return nil
	}
	e := &Ended{attempt: a, outcome: outcome, at: time.Now(), total: w.judge.total(a, outcome), cancel: observe.NoTime}
	if stop := a.stop.Load(); stop != 0 && errors.Is(cause, activity.ErrCancelled) {
		e.cancel = max(0, e.at.Sub(time.Unix(0, stop)))
	}
	return e
}

// tell tells the Observer that an attempt has ended.
func (w *Worker) tell(a *Attempt, cause error, outcome observe.Outcome) {
	if e := w.Ended(a, cause, outcome); e != nil {
		e.Tell(w.Watch)
	}
}

// reported tells the Observer of an attempt whose report the store has taken, or has refused.
func (w *Worker) reported(a *Attempt, cause error, outcome observe.Outcome, taken bool) {
	if !taken {
		outcome = observe.Lost
	}
	w.tell(a, cause, outcome)
}

// event returns the event of an attempt that has ended, without durations but Wait.
func (a *Attempt) event(outcome observe.Outcome, at time.Time) observe.Event {
	of := a.Of
	if of == nil { // it has not begun here
		of = new(history.DecodeOrigin(a.Origin))
	}
	e := observe.Event{
		Kind: observe.Attempt, At: at, Instance: a.instanceID, Key: a.Ref.Key, Execution: a.Ref.Execution,
		Orchestration: of.Name, Version: of.CodeVersion, Trace: history.HeaderValue(of.Header, history.TraceKey),
		Activity: a.Call.Name, Queue: a.Call.Queue, EventID: a.Ref.EventID, Attempt: a.Number, Local: a.user != nil && a.user.Info.Local,
		Outcome: outcome, Took: observe.NoTime, Wait: observe.NoTime, Total: observe.NoTime, Cancel: observe.NoTime,
	}
	if a.Number == 1 && a.began != 0 {
		e.Wait = max(0, a.began.Sub(a.scheduled)-Span(a.Call.Delay))
	}
	return e
}

// total returns the time since the call if the outcome ends that, and NoTime otherwise.
func (j *judge) total(a *Attempt, outcome observe.Outcome) time.Duration {
	switch outcome { //nolint:exhaustive // the others end no call
	case observe.Completed, observe.Failed, observe.TimedOut, observe.Cancelled:
		return max(0, j.Clock.Now().Sub(a.scheduled))
	}
	return observe.NoTime
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
	of := a.Of
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
