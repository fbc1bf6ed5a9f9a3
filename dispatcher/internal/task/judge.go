package task

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// retry reports whether a failed attempt is retried, and after how long. err may ask for a delay in place of the policy's.
func (j *judge) retry(a *Attempt, f *history.Failure, err error) (time.Duration, bool) {
	delay, again := engine.RetryDelay(a.Call.Retry, a.Number, f, rand.Float64)
	if !again {
		return 0, false
	}
	if asked, ok := failure.RetryDelay(err); ok {
		delay = min(asked, engine.MaxDelay)
	}
	if left, limited := j.remaining(a); limited && delay >= left {
		return 0, false
	}
	return delay, !elapsed(a.Call.Retry, a.scheduled, j.Clock.Now(), delay)
}

// elapsed reports whether an attempt after the delay would begin too late.
func elapsed(p *history.RetryPolicy, scheduled, now provider.Time, delay time.Duration) bool {
	return p.MaxElapsed > 0 && int64(now.Add(delay)-scheduled) > p.MaxElapsed
}

// maxReason limits the text of each failure in a list of attempts, in bytes.
const maxReason = 200

// listed returns the last attempts, this one included, as many as the call asks for. f is its failure, if it failed. Until the call ends the
// list is stored with the failure of its task. It goes into the history only if the scheduled event says that its readers know it.
func (j *judge) listed(a *Attempt, f *history.Failure) []history.Attempt {
	if a.Call.Retry == nil || a.Call.Retry.Listed <= 0 {
		return nil
	}
	own := history.Attempt{Number: a.Number, Node: j.Config.Owner, Began: int64(a.began), Ended: int64(j.Clock.Now())}
	if f != nil {
		own.Failure = reason(f.Message)
	}
	list := append(slices.Clone(a.pastAttempts), own)
	return list[max(0, len(list)-int(min(a.Call.Retry.Listed, 1_000))):]
}

// reason returns the first line of a message; a panic's message contains the stack.
func reason(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason-3], "") + "..."
	}
	return line
}

// completed returns the end of a call whose activity returned.
func (j *judge) completed(a *Attempt, output []byte) *history.ActivityCompleted {
	b := &history.ActivityCompleted{Scheduled: a.Ref.EventID, Output: output, Attempt: a.Number}
	if len(a.pastAttempts) > 0 {
		b.Attempts = j.listed(a, nil)
	}
	return b
}

// gaveUp returns the end of a call whose activity failed for good.
func (j *judge) gaveUp(a *Attempt, f history.Failure) *history.ActivityFailed {
	b := &history.ActivityFailed{Scheduled: a.Ref.EventID, Failure: f, Attempt: a.Number}
	if len(a.pastAttempts) > 0 {
		b.Attempts = j.listed(a, &f)
	}
	return b
}

// encodeRetried returns the data to store with a task that gets another attempt.
func (j *judge) encodeRetried(a *Attempt, f history.Failure) []byte {
	r := history.Retried{Failure: f, Attempts: j.listed(a, &f)}
	if j.Watch.Traces() && j.Config.Level.Allowed() >= replay.LevelOfAnchors {
		r.Span = a.span.Context
	}
	return history.EncodeRetried(r)
}

// readRetried reads the data that encodeRetried made. The attempt runs even if it cannot be read.
func (a *Attempt) readRetried(stored []byte) {
	if len(stored) == 0 {
		return
	}
	if r, err := history.DecodeRetried(stored); err == nil {
		a.lastFailure, a.pastAttempts, a.previousSpan = r.Failure, r.Attempts, r.Span
	}
}

// judge decides what the outcome of an attempt means: a retry, a result or a dead letter.
type judge struct{ *core.Node }

// failTask makes report end the call with a failure, after the past attempts.
func failTask(report *provider.TaskReport, f history.Failure, past ...history.Attempt) {
	report.Outcome = provider.TaskComplete
	report.Message = engine.Message(&history.ActivityFailed{
		Scheduled: report.EventID, Attempt: report.Attempt, Failure: f, Attempts: past,
	}, report.Execution, report.EventID)
}

// workerLost returns the failure of a call whose outcome is unknown and that must not run again.
func (j *judge) workerLost(activity, why string) history.Failure {
	return j.Config.Env.Errors.Encode(failure.New(failure.ErrWorkerLost, "activity %s runs at most once: %s", activity, why))
}

// poisonTask makes report end the call with ErrPoisoned and keep the task in the dead letters.
func (j *judge) poisonTask(report *provider.TaskReport, reason string, past ...history.Attempt) {
	j.Count.AttemptsPoisoned.Add(1)
	j.Config.Logger.Error("activity is poisoned: moved to the dead letters", "key", report.Key, "event", report.EventID, "reason", reason)
	failTask(report, j.Config.Env.Errors.Encode(failure.NonRetryable(failure.New(failure.ErrPoisoned, "%s", reason))), past...)
	report.Outcome, report.Reason = provider.TaskPoison, core.Plain(reason, provider.MaxName)
}

// countFailed counts an attempt that ended its call with an error, as cancelled if it was.
func (j *judge) countFailed(a *Attempt, cause error) {
	if errors.Is(cause, activity.ErrCancelled) || a.Unwanted() {
		j.Count.AttemptsCancelled.Add(1)
		return
	}
	j.Count.AttemptsFailed.Add(1)
}

// fits returns an error for an output that is too large for a history.
func (j *judge) fits(a *Attempt, output []byte) error {
	if int64(len(output)) <= j.Config.Settings().MaxPayload {
		return nil
	}
	return failure.NonRetryable(failure.New(failure.ErrTooLarge, "output of activity %s has %d bytes, the limit is %d",
		a.Call.Name, len(output), j.Config.Settings().MaxPayload))
}

// failureOf returns the failure of an attempt. A cancellation or timeout takes precedence over the error that the code returned for it.
func (j *judge) failureOf(a *Attempt, cause, err error) history.Failure {
	switch {
	case errors.Is(cause, activity.ErrCancelled):
		err = failure.NonRetryable(failure.New(failure.ErrCancelled, "activity %s was cancelled: %v", a.Call.Name, err))
	case errors.Is(cause, activity.ErrTimeout):
		err = timeoutFailure(a.Call, timeoutKind(cause), err)
	}
	return j.Config.Env.Errors.Encode(err)
}

// timeoutKind returns which limit ended a context.
func timeoutKind(cause error) activity.TimeoutKind {
	if limit, ok := errors.AsType[*activity.TimeoutError](cause); ok {
		return limit.Kind
	}
	return activity.StartToClose
}

// timeoutFailure returns the error of a call or attempt past a limit. why is the error of its code
// or of the previous attempt. It may be nil.
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
		engine.Span(limit), said)
	if kind == activity.ScheduleToStart || kind == activity.ScheduleToClose { // it concerns the whole call
		err = failure.NonRetryable(err)
	}
	return err
}

// remaining returns the time that a call has left, by the storage's clock. It returns false if there is no limit.
func (j *judge) remaining(a *Attempt) (time.Duration, bool) {
	if a.deadline == 0 {
		return 0, false
	}
	return max(a.deadline.Sub(j.Clock.Now()), 0), true
}
