package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/provider"
)

// completeIn completes a task together with what its activity handed over for that transaction. It takes no short cut through
// the cached execution: should a function fail, then the attempt does and no turn. The storage decides whether the execution still
// wants the result, so that it is asked even if this node was told otherwise. A function that fails has failed the way the activity
// itself would have: the context that it works with may have been cancelled, too. The result is as of settle.
func (d *Dispatcher) completeIn(
	working context.Context, a *attempt, inside func(provider.Tx) error, output []byte, report provider.TaskReport,
) *result {
	store, ok := provider.As[provider.Transactor](d.store.Provider)
	if !ok {
		err := fmt.Errorf("the store runs no functions inside its transactions: %w", provider.ErrForeignTx)
		return d.failed(working, a, nil, failure.NonRetryable(err), report)
	}
	item := report
	item.Outcome = provider.TaskComplete
	item.Message = message(d.completed(a, output), a.Ref.Execution, a.Ref.EventID)
	inside = d.guarded(working, a, inside)
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
		res, err := store.CompleteIn(ctx, item, inside)
		cancel()
		if refused, ok := errors.AsType[*provider.FuncError](err); ok {
			return d.endAttempt(working, a, a.cause(), nil, final(refused.Err), report)
		}
		if err == nil || storage.Refused(err) {
			d.completedIn(a, &item, res, err)
			return nil
		}
		d.store.Failed("complete task", failures, err)
		if !storage.Pause(working, storage.Backoff(failures)) {
			d.manage.Remove(&a.Attempt)
			return nil
		}
	}
}

// completedIn notes what the storage answered.
func (d *Dispatcher) completedIn(a *attempt, report *provider.TaskReport, res provider.TaskReportResult, err error) {
	d.store.Reported(report, errors.Join(err, res.Err))
	switch {
	case err != nil || res.Err != nil:
	case res.State.Kind == provider.ExecutionRunning:
		d.count.attemptsCompleted.Add(1)
		d.actors.sentTo(a.Ref.Key)
	default:
		d.count.attemptsDiscarded.Add(1)
	}
	d.manage.Remove(&a.Attempt)
}

// final makes an error that no other attempt could mend one that is not retried.
func final(err error) error {
	if errors.Is(err, provider.ErrForeignTx) || errors.Is(err, provider.ErrInvalid) {
		return failure.NonRetryable(err)
	}
	return err
}

// functionTimeout is how long a function of an activity may take. The call that it is part of has as much again to store the completion.
const functionTimeout = storage.CallTimeout / 2

// guarded runs a function of the activity on a goroutine of its own: neither a panic nor Goexit may reach the provider, whose
// transaction a function that does not come back must not hold for ever.
func (d *Dispatcher) guarded(working context.Context, a *attempt, fn func(provider.Tx) error) func(provider.Tx) error {
	name := a.call.Name
	return func(tx provider.Tx) error {
		var over atomic.Bool // it came back, or was left behind
		var code leak.Code
		done := make(chan error, 1)
		go func() {
			code.RunsOn(goroutine.ID())
			returned := false
			var err error
			defer func() {
				if p := recover(); p != nil {
					err = d.panicked(a, fmt.Sprintf("panicked inside its transaction: %v", p))
				} else if !returned {
					err = d.panicked(a, "called runtime.Goexit inside its transaction")
				}
				d.watchdog.Returned(&code)
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
		d.watchdog.Enter(&code, completionEntry(a))
		return failure.New(failure.ErrTimeout, "activity %s did not end inside its transaction within %v: left behind", name, functionTimeout)
	}
}
