package task

import (
	"context"
	"errors"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/provider"
)

// settle ends an attempt whose code has ended or was abandoned. If the execution gets a result, settle returns it for the caller to
// deliver.
func (w *Worker) settle(working context.Context, a *Attempt, cause error, output []byte, err error) *Result {
	w.freeSlot(a)
	left := w.conclude(working, a, cause, output, err)
	if left == nil {
		w.Over(a)
	}
	return left
}

// ToInbox sends a result to the inbox of its execution.
func (w *Worker) ToInbox(working context.Context, r *Result) {
	a := r.Attempt
	w.Store.Report(working, provider.TaskReport{
		TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskComplete, Details: r.details,
		Message: core.Message(r.Body, a.Ref.Execution, a.Ref.EventID),
	})
	w.executions.SentTo(a.Ref.Key)
	w.Manage.Remove(&a.Attempt)
}

// ReleaseUnstarted releases the task of an attempt that was not started because its turn is rolled back.
func (w *Worker) ReleaseUnstarted(working context.Context, a *Attempt) {
	w.Work.Add()
	go func() {
		defer w.Work.Done()
		w.Store.Report(working, provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskRelease})
	}()
}

// Over ends an attempt whose outcome is reported or delivered.
func (w *Worker) Over(a *Attempt) {
	if a.suspect {
		w.Suspects.Done()
	}
	w.Work.Done()
}

// conclude reports the outcome of an attempt, or returns its result.
func (w *Worker) conclude(working context.Context, a *Attempt, cause error, output []byte, err error) *Result {
	report := provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Details: a.Unsaved()}
	if inside := a.completion.Close(); err == nil && inside != nil {
		return w.completeIn(working, a, inside, output, report)
	}
	return w.end(working, a, cause, output, err, report)
}

// end reports the outcome of an attempt that has no function for its transaction. It returns what settle returns.
func (w *Worker) end(
	working context.Context, a *Attempt, cause error, output []byte, err error, report provider.TaskReport,
) *Result {
	gone := errors.Is(cause, activity.ErrOrchestrationEnded) || errors.Is(cause, activity.ErrOrchestrationMissing)
	switch {
	case err != nil && a.Call.AtMostOnce && (gone || errors.Is(cause, activity.ErrShutdown)):
		// It has begun. If the cause is wrong, a released task would run again.
		w.Count.AttemptsFailed.Add(1)
		failTask(&report, w.judge.workerLost(a.Call.Name, cause.Error()))
	case gone:
		w.Count.AttemptsDiscarded.Add(1)
		report.Outcome = provider.TaskDiscard
		if err == nil { // kept, in case the cause is wrong
			report.Outcome = provider.TaskComplete
			report.Message = core.Message(w.judge.completed(a, output), a.Ref.Execution, a.Ref.EventID)
		}
	case err == nil:
		w.Count.AttemptsCompleted.Add(1)
		return &Result{Attempt: a, details: report.Details, Body: w.judge.completed(a, output)}
	case errors.Is(cause, activity.ErrShutdown):
		w.Count.AttemptsReleased.Add(1)
		report.Outcome, report.Begun = provider.TaskRelease, true
	case errors.Is(cause, activity.ErrLeaseLost):
		w.Store.LeasesLost.Add(1)
		w.Manage.Remove(&a.Attempt)
		return nil
	case errors.Is(cause, activity.ErrAlreadyCompleted):
		w.Manage.Remove(&a.Attempt)
		return nil
	default:
		return w.failed(working, a, cause, err, report)
	}
	w.Store.Report(working, report)
	w.Manage.Remove(&a.Attempt)
	return nil
}

// failed releases the task for another attempt, or returns the failure as the result.
func (w *Worker) failed(working context.Context, a *Attempt, cause, err error, report provider.TaskReport) *Result {
	f := w.judge.failureOf(a, cause, err)
	delay, again := w.judge.again(a, &f, err)
	if again && a.Unwanted() { // a caller that waits for the end gets no further attempt
		f, again = w.judge.failureOf(a, activity.ErrCancelled, err), false
	}
	if !again {
		w.judge.countFailed(a, cause)
		return &Result{Attempt: a, details: report.Details, Body: w.judge.gaveUp(a, f)}
	}
	w.Count.AttemptsRetried.Add(1)
	report.Outcome, report.Delay, report.Failure = provider.TaskRetry, delay, w.judge.triedAgain(a, f)
	w.Store.Report(working, report)
	w.Manage.Remove(&a.Attempt)
	return nil
}
