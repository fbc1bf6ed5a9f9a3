package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// settle ends an attempt whose code has ended or was abandoned. If the execution gets a result, settle returns it for the caller to
// deliver.
func (w *Worker) settle(working context.Context, a *Attempt, cause error, output []byte, err error) *Result {
	w.freeSlot(a)
	left := w.reportOrReturn(working, a, cause, output, err)
	if left == nil {
		w.Over(a)
	}
	return left
}

// freeSlot releases the slot.
func (w *Worker) freeSlot(a *Attempt) {
	a.StopHeartbeats()
	w.Count.AttemptsRunning.Add(-1)
	w.pools.Release(a.places)
	w.Tasks.Release(1)
}

// ToInbox sends a result to the inbox of its execution.
func (w *Worker) ToInbox(working context.Context, r *Result) {
	a := r.Attempt
	taken := w.Store.Report(working, provider.TaskReport{
		TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskComplete, Details: r.details,
		Message: engine.Message(r.Body, a.Ref.Execution, a.Ref.EventID),
	})
	if taken {
		r.Stored(w.Node)
	} else {
		r.lost(w.Watch)
	}
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

// releaseUnbegun releases a task, and its slot, that must not begin now. It does not count as an attempt.
func (w *Worker) releaseUnbegun(working context.Context, a *Attempt) {
	w.Count.AttemptsReleased.Add(1)
	w.refuse(working, provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskRelease}, nil)
	if a.suspect {
		w.Suspects.Done()
	}
}

// refuse reports on a task that must not run and releases its slot. It calls then if the store has taken the report; nil: nothing.
func (w *Worker) refuse(working context.Context, report provider.TaskReport, then func()) {
	w.Work.Add()
	go func() {
		defer w.Work.Done()
		defer w.Tasks.Release(1)
		if w.Store.Report(working, report) && then != nil {
			then()
		}
	}()
}

// Over ends an attempt whose outcome is reported or delivered.
func (w *Worker) Over(a *Attempt) {
	if a.suspect {
		w.Suspects.Done()
	}
	w.Work.Done()
}

// reportOrReturn reports the outcome of an attempt, or returns its result.
func (w *Worker) reportOrReturn(working context.Context, a *Attempt, cause error, output []byte, err error) *Result {
	report := provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Details: a.Unsaved()}
	if inside := a.completion.Close(); err == nil && inside != nil {
		return w.completeIn(working, a, inside, output, report)
	}
	return w.end(working, a, cause, output, err, report)
}

// end reports the outcome of an attempt that has no function for its transaction. It returns a result that the cached execution gets
// instead.
func (w *Worker) end(
	working context.Context, a *Attempt, cause error, output []byte, err error, report provider.TaskReport,
) *Result {
	gone := errors.Is(cause, activity.ErrOrchestrationEnded) || errors.Is(cause, activity.ErrOrchestrationMissing)
	outcome := observe.Discarded
	switch {
	case err != nil && a.Call.AtMostOnce && (gone || errors.Is(cause, activity.ErrShutdown)):
		// It has begun. If the cause is wrong, a released task would run again.
		w.Count.AttemptsFailed.Add(1)
		failTask(&report, w.judge.workerLost(a.Call.Name, cause.Error()))
		outcome = observe.Failed
	case gone:
		w.Count.AttemptsDiscarded.Add(1)
		report.Outcome = provider.TaskDiscard
		if err == nil { // kept, in case the cause is wrong
			report.Outcome = provider.TaskComplete
			report.Message = engine.Message(w.judge.completed(a, output), a.Ref.Execution, a.Ref.EventID)
		}
	case err == nil:
		w.Count.AttemptsCompleted.Add(1)
		return w.result(a, cause, report.Details, w.judge.completed(a, output), observe.Completed)
	case errors.Is(cause, activity.ErrShutdown):
		w.Count.AttemptsReleased.Add(1)
		report.Outcome, report.Begun = provider.TaskRelease, true
		outcome = observe.Released
	case errors.Is(cause, activity.ErrLeaseLost):
		w.Store.LeaseLost("attempt")
		w.reportEnd(a, cause, observe.Lost)
		w.Manage.Remove(&a.Attempt)
		return nil
	case errors.Is(cause, activity.ErrAlreadyCompleted):
		w.reportEnd(a, cause, observe.Completed)
		w.Manage.Remove(&a.Attempt)
		return nil
	default:
		return w.failed(working, a, cause, err, report)
	}
	w.reported(a, cause, outcome, w.Store.Report(working, report))
	w.Manage.Remove(&a.Attempt)
	return nil
}

// failed releases the task for another attempt, or returns the failure as the result.
func (w *Worker) failed(working context.Context, a *Attempt, cause, err error, report provider.TaskReport) *Result {
	f := w.judge.failureOf(a, cause, err)
	delay, again := w.judge.retry(a, &f, err)
	if again && a.Unwanted() { // a caller that waits for the end gets no further attempt
		f, again = w.judge.failureOf(a, activity.ErrCancelled, err), false
	}
	if !again {
		w.judge.countFailed(a, cause)
		return w.result(a, cause, report.Details, w.judge.gaveUp(a, f), FailedFor(a, cause))
	}
	w.Count.AttemptsRetried.Add(1)
	report.Outcome, report.Delay, report.Failure = provider.TaskRetry, delay, w.judge.encodeRetried(a, f)
	w.reported(a, cause, observe.Retried, w.Store.Report(working, report))
	w.Manage.Remove(&a.Attempt)
	return nil
}

// completeIn completes a task and runs the activity's function in the same transaction. It takes no short cut through the cached execution,
// so a failing function fails the attempt and no turn. The storage decides whether the execution still wants the result, whatever this node
// has heard. A failing function counts like a failing activity, because its context may have been cancelled too.
func (w *Worker) completeIn(
	working context.Context, a *Attempt, inside func(provider.Tx) error, output []byte, report provider.TaskReport,
) *Result {
	store, ok := provider.As[provider.Transactor](w.Store.Provider)
	if !ok {
		err := fmt.Errorf("the store runs no functions inside its transactions: %w", provider.ErrForeignTx)
		return w.failed(working, a, nil, failure.NonRetryable(err), report)
	}
	item := report
	item.Outcome = provider.TaskComplete
	item.Message = engine.Message(w.judge.completed(a, output), a.Ref.Execution, a.Ref.EventID)
	inside = w.guarded(working, a, inside)
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
		res, err := store.CompleteIn(ctx, item, inside)
		cancel()
		if refused, ok := errors.AsType[*provider.FuncError](err); ok {
			return w.end(working, a, a.Cause(), nil, final(refused.Err), report)
		}
		if err == nil || storage.Refused(err) {
			w.completedIn(a, &item, res, err)
			return nil
		}
		w.Store.Failed("complete task", failures, err)
		if !storage.Pause(working, storage.Backoff(failures)) {
			w.Manage.Remove(&a.Attempt)
			return nil
		}
	}
}

// completedIn counts and logs the outcome of completeIn.
func (w *Worker) completedIn(a *Attempt, report *provider.TaskReport, res provider.TaskReportResult, err error) {
	w.Store.Reported(report, errors.Join(err, res.Err))
	outcome := observe.Lost
	switch {
	case err != nil || res.Err != nil:
	case res.State.Kind == provider.ExecutionRunning:
		outcome = observe.Completed
		w.Count.AttemptsCompleted.Add(1)
		w.executions.SentTo(a.Ref.Key)
	default:
		outcome = observe.Discarded
		w.Count.AttemptsDiscarded.Add(1)
	}
	w.reportEnd(a, nil, outcome)
	w.Manage.Remove(&a.Attempt)
}

// final makes an error non-retryable if no other attempt could succeed.
func final(err error) error {
	if errors.Is(err, provider.ErrForeignTx) || errors.Is(err, provider.ErrInvalid) {
		return failure.NonRetryable(err)
	}
	return err
}

// functionTimeout limits a function that runs in the transaction. The call has as much time again to store the completion.
const functionTimeout = storage.CallTimeout / 2

// guarded runs a function of the activity on its own goroutine. Neither a panic nor Goexit may reach the provider, and a function that does
// not return must not hold its transaction.
func (w *Worker) guarded(working context.Context, a *Attempt, fn func(provider.Tx) error) func(provider.Tx) error {
	name := a.Call.Name
	return func(tx provider.Tx) error {
		var over atomic.Bool // it has returned or was abandoned
		var code leak.Code
		done := make(chan error, 1)
		go func() {
			code.RunsOn(goroutine.ID())
			returned := false
			var err error
			defer func() {
				if p := recover(); p != nil {
					err = w.Panicked(a, fmt.Sprintf("panicked inside its transaction: %v", p))
				} else if !returned {
					err = w.Panicked(a, "called runtime.Goexit inside its transaction")
				}
				w.Watchdog.Returned(&code)
				over.CompareAndSwap(false, true)
				done <- err
			}()
			err = fn(tx)
			returned = true
		}()
		limit := time.NewTimer(functionTimeout)
		defer limit.Stop()
		select {
		case err := <-done:
			return err
		case <-limit.C:
		case <-working.Done():
		}
		if !over.CompareAndSwap(false, true) {
			return <-done
		}
		w.Watchdog.Enter(&code, completionEntry(a))
		return failure.New(failure.ErrTimeout, "activity %s did not end inside its transaction within %v: left behind", name, functionTimeout)
	}
}

// Panicked returns the failure of an attempt whose code did not return. It logs the failure, which a retry may hide. The caller is on the
// code's stack.
func (w *Worker) Panicked(a *Attempt, how string) error {
	stack := string(debug.Stack())
	w.Config.Logger.Error("activity panicked", "activity", a.Call.Name, "instance", a.instanceID, "attempt", a.Number, "err", how, "stack", stack)
	return failure.New(failure.ErrPanic, "activity %s %s\n%s", a.Call.Name, how, stack)
}
