package task

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// NewInTurn makes an attempt that runs inside a turn, after the given number of failed ones.
func (w *Worker) NewInTurn(ref provider.TaskRef, instanceID string, call *history.ActivityScheduled, failed int64, scheduled provider.Time) *Attempt {
	a := &Attempt{
		Attempt: manage.Attempt{Ref: ref}, Call: call, instanceID: instanceID, Number: failed + 1, before: failed, Deliveries: 1,
		began: w.Clock.Now(), Done: make(chan struct{}), user: &bind.Attempt{},
		scheduled: scheduled, deadline: deadline(scheduled, time.Duration(call.ScheduleToClose)*time.Microsecond),
	}
	w.starts(a)
	return a
}

// Follows notes the attempt before, which ran in the same turn.
func (a *Attempt) Follows(before *Attempt) { a.previousSpan = before.span.Context }

// ContextInTurn returns the context of the user's function for an attempt inside a turn, which has no task.
func (w *Worker) ContextInTurn(ctx context.Context, a *Attempt) (context.Context, context.CancelFunc) {
	a.completion.Refuse(errLocalCompletion)
	ctx, stop := w.contextOf(ctx, a)
	u := a.user
	u.Info.Local, u.Heartbeat, u.Later = true, func([]byte) {}, neverLater{a}
	a.Cause = func() error { return context.Cause(ctx) }
	return ctx, stop
}

var errLocalCompletion = errors.New("a local activity runs before the commit that records it: call it with CallActivity")

// neverLater implements activity.Later for local activities, which cannot end later.
type neverLater struct{ a *Attempt }

// Token implements activity.Later.
func (l neverLater) Token() string { panic(RefuseLater(l.a, activity.ErrPending)) }

// End implements activity.Later.
func (l neverLater) End([]byte, error) error { return RefuseLater(l.a, activity.ErrPending) }

// Cause implements activity.Later.
func (l neverLater) Cause() error { return l.a.Cause() }

// Adopt takes over an attempt that began inside a turn and that the commit made a task with a lease.
func (w *Worker) Adopt(a *Attempt) {
	w.Count.AttemptsRunning.Add(1)
	a.later, a.Queue = later{w, a}, a.Call.Queue
	a.Owner = &a.later
	w.Manage.Add(&a.Attempt)
}

// FailedInTurn returns the failure of an attempt inside a turn. It reports whether there is another attempt, and after how long.
func (w *Worker) FailedInTurn(a *Attempt, cause, err error) (f history.Failure, delay time.Duration, again bool) {
	f = w.judge.failureOf(a, cause, err)
	delay, again = w.judge.retry(a, &f, err)
	if again {
		w.Count.AttemptsRetried.Add(1)
	} else {
		w.judge.countFailed(a, cause)
	}
	return f, delay, again
}

// RefuseLater turns ErrPending into a failure.
func RefuseLater(a *Attempt, err error) error {
	if !failure.Wraps(err, activity.ErrPending) {
		return err
	}
	return failure.NonRetryable(failure.New(failure.ErrInvalid,
		"activity %s answered that it ends later, which a local activity cannot: call it with CallActivity", a.Call.Name))
}
