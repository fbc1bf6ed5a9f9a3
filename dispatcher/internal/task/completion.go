package task

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/provider"
)

// completeIn completes a task and runs the activity's function in the same transaction. It takes no short cut through the cached execution,
// so a failing function fails the attempt and no turn. The storage decides whether the execution still wants the result, whatever this node
// has heard. A failing function counts like a failing activity, because its context may have been cancelled too. It returns what settle
// returns.
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
	item.Message = core.Message(w.judge.completed(a, output), a.Ref.Execution, a.Ref.EventID)
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
	switch {
	case err != nil || res.Err != nil:
	case res.State.Kind == provider.ExecutionRunning:
		w.Count.AttemptsCompleted.Add(1)
		w.executions.SentTo(a.Ref.Key)
	default:
		w.Count.AttemptsDiscarded.Add(1)
	}
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
