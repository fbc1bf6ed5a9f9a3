package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// limited ends the context of an attempt at the first of its limits, with that as the cause.
func (w *worker) limited(ctx context.Context, a *attempt) (_ context.Context, stop context.CancelFunc, deadline time.Time) {
	limit, kind := span(a.call.StartToClose), activity.StartToClose
	if limit > 0 {
		a.expires = time.Now().Add(limit)
	}
	if left, is := w.judge.remaining(a); is && (limit == 0 || left < limit) {
		limit, kind = max(left, 1), activity.ScheduleToClose
	}
	if limit == 0 {
		return ctx, func() {}, time.Time{}
	}
	deadline = time.Now().Add(limit)
	ctx, stop = context.WithDeadlineCause(ctx, deadline, &activity.TimeoutError{Kind: kind})
	return ctx, stop, deadline
}

// timeoutKind says which limit ended a context.
func timeoutKind(cause error) activity.TimeoutKind {
	if limit, ok := errors.AsType[*activity.TimeoutError](cause); ok {
		return limit.Kind
	}
	return activity.StartToClose
}

// timeoutFailure is the error of a call or attempt that is over a limit. why is what its code, or the attempt before, said of it; it may be nil.
func timeoutFailure(call *history.ActivityScheduled, kind activity.TimeoutKind, why error) error {
	limit, what := call.StartToClose, "ran longer than"
	switch kind {
	case activity.StartToClose:
	case activity.NoHeartbeat:
		limit, what = call.HeartbeatTimeout, "gave no heartbeat within"
	case activity.ScheduleToStart:
		limit, what = call.ScheduleToStart, "did not begin within"
	case activity.ScheduleToClose:
		limit, what = call.ScheduleToClose, "did not end within"
	}
	said := ""
	if why != nil {
		said = ": " + why.Error()
	}
	err := failure.NewTimeout(string(kind), "activity %s %s its %s timeout of %v%s", call.Name, what, kind,
		span(limit), said)
	if kind == activity.ScheduleToStart || kind == activity.ScheduleToClose { // it concerns the whole call
		err = failure.NonRetryable(err)
	}
	return err
}

// span is a limit in stored microseconds. It is cut where it would overflow, as a duration or when a clock is added: that is hundreds of years away.
func span(micros int64) time.Duration {
	return time.Duration(min(micros, int64(maxRetryDelay/time.Microsecond))) * time.Microsecond
}

// remaining is the time that a call has left from now on, by the storage's clock; false if it has no limit.
func (j *judge) remaining(a *attempt) (time.Duration, bool) {
	if a.deadline == 0 {
		return 0, false
	}
	return max(a.deadline.Sub(j.clock.Now()), 0), true
}
