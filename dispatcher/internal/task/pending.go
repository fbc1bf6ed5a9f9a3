package task

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/provider"
)

// phase is the phase of an attempt.
type phase uint8

const (
	phaseCode    phase = iota // user code runs
	phasePending              // it returned ErrPending
	phaseOver                 // its end is being handled
)

// Outcome is the outcome of an attempt.
type Outcome struct {
	Output []byte
	Err    error
}

// lifecycle decides which one ends an attempt: its code, its completer, or the watchdog.
type lifecycle struct {
	mu     sync.Mutex
	phase  phase
	given  *Outcome
	settle func(Outcome) // of a pending attempt
	why    error         // why it is over
}

// end ends the attempt. If ok is true, the caller must handle the end. The outcome given is that of a completer, if
// any. The result code reports whether user code still runs.
func (l *lifecycle) end(why error) (given *Outcome, code, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == phaseOver {
		return nil, false, false
	}
	code = l.phase == phaseCode
	l.phase, l.why = phaseOver, why
	return l.given, code, true
}

// wait makes an attempt pending. It returns false if its completer was faster or the attempt is over.
func (l *lifecycle) wait(settle func(Outcome)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != phaseCode || l.given != nil {
		return false
	}
	l.phase, l.settle = phasePending, settle
	return true
}

func (l *lifecycle) pending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == phasePending
}

// complete stores the outcome of a completer. While code runs, the outcome waits for its end.
func (l *lifecycle) complete(o Outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.phase == phaseOver:
		return l.why
	case l.given != nil:
		return activity.ErrAlreadyCompleted
	}
	l.given = &o
	if l.phase == phasePending {
		l.phase, l.why = phaseOver, activity.ErrAlreadyCompleted
		go l.settle(o)
	}
	return nil
}

// over returns why an outcome would be refused; nil if it would not.
func (l *lifecycle) over() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != phaseOver && l.given != nil {
		return activity.ErrAlreadyCompleted
	}
	return l.why
}

// later lets a completer end an attempt. It implements activity.Later and manage.Owner.
type later struct {
	w *Worker
	a *Attempt
}

// Token implements activity.Later.
func (l *later) Token() string {
	l.a.Share()
	return tasktoken.Encode(tasktoken.Token{Task: l.a.Ref, Attempt: l.a.stored(), Holder: l.a.Token, Lease: l.w.Config.Lease})
}

// End implements activity.Later.
func (l *later) End(output []byte, err error) error {
	if err == nil {
		err = l.w.judge.fits(l.a, output)
		if err != nil {
			return err
		}
	}
	return l.a.lifecycle.complete(Outcome{output, err})
}

// Cause implements activity.Later.
func (l *later) Cause() error {
	if err := l.a.lifecycle.over(); err != nil {
		return err
	}
	return l.a.Cause()
}

// Leave implements manage.Owner.
func (l *later) Leave(ctx context.Context) {
	l.w.abandon(ctx, l.a, activity.ErrShutdown, activity.ErrShutdown)
}

// keepPending keeps slot, lease and context of an attempt whose code returned ErrPending. It keeps no goroutine. free
// ends the context when a completer has ended the attempt.
func (w *Worker) keepPending(working, ctx context.Context, a *Attempt, err error, free func()) bool {
	if !failure.Wraps(err, activity.ErrPending) || failure.Wraps(err, activity.ErrParked) || ctx.Err() != nil {
		return false
	}
	// It is counted first: once it is pending, a completer may end it.
	w.Count.AttemptsPending.Add(1)
	kept := a.lifecycle.wait(func(o Outcome) {
		defer free()
		close(a.Done)
		w.Count.AttemptsPending.Add(-1)
		w.EndedBy(working, a, a.Cause(), o)
	})
	if !kept {
		w.Count.AttemptsPending.Add(-1)
	}
	return kept
}

// EndedBy ends an attempt with an outcome. The execution continues on another goroutine.
func (w *Worker) EndedBy(working context.Context, a *Attempt, cause error, o Outcome) {
	w.executions.Deliver(working, w.settle(working, a, cause, o.Output, o.Err))
}

// TryEnd ends an attempt, whose context may have ended for a cause. It returns false if the attempt had ended before.
func (a *Attempt) TryEnd(cause error) bool {
	_, _, ok := a.lifecycle.end(whyOver(cause, false))
	return ok
}

// whyOver returns the error for a completer that comes too late.
func whyOver(cause error, parked bool) error {
	switch {
	case parked:
		return activity.ErrParked
	case cause != nil:
		return cause
	}
	return activity.ErrAlreadyCompleted
}

// patient reports whether the completer of a pending attempt has the grace period. For all other causes its outcome no longer counts.
func patient(cause error) bool {
	return errors.Is(cause, activity.ErrCancelled) || errors.Is(cause, activity.ErrShutdown)
}

// park releases the slot of an attempt. From here on only the token can complete the task.
func (w *Worker) park(working context.Context, a *Attempt) *Result {
	if a.completion.Close() != nil {
		return w.settle(working, a, nil, nil, failure.NonRetryable(failure.New(failure.ErrInvalid,
			"activity %s gave its slot back, and what it gave OnComplete would be lost: do that where the activity is completed", a.Call.Name)))
	}
	w.freeSlot(a)
	w.Count.AttemptsParked.Add(1)
	report := provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskPark, Details: a.Unsaved()}
	if !a.expires.IsZero() { // any node may end the attempt then
		report.Limit = max(time.Until(a.expires), time.Microsecond)
	}
	w.Store.Report(working, report)
	w.Manage.Remove(&a.Attempt)
	w.Over(a)
	return nil
}

// grace adds the code of a cancelled attempt to the watchdog, or waits for the completer of a pending one. After the grace period it
// abandons the attempt: it releases the slot and reports the task as if the attempt had ended.
func (w *Worker) grace(working context.Context, a *Attempt, cause error) {
	a.AsksToStop()
	if a.lifecycle.pending() {
		w.gracePending(working, a, cause)
		return
	}
	what := LeakEntry(a, cause)
	what.Leave = func() {
		// It calls the storage, for which the watchdog must not wait.
		go w.abandon(working, a, cause, fmt.Errorf("did not end within the grace period of %v: %w", w.Config.GracePeriod, cause))
	}
	w.Watchdog.Enter(&a.Watched, what)
}

// gracePending waits for the completer of a pending attempt. No code runs here that could leak.
func (w *Worker) gracePending(working context.Context, a *Attempt, cause error) {
	period, why := w.Config.GracePeriod, fmt.Errorf("did not end within the grace period of %v: %w", w.Config.GracePeriod, cause)
	if !patient(cause) {
		period, why = 0, fmt.Errorf("was abandoned, as its outcome no longer counts: %w", cause)
	}
	timer := time.NewTimer(period)
	defer timer.Stop()
	select {
	case <-timer.C:
		w.abandon(working, a, cause, why)
	case <-a.Done:
	case <-working.Done():
	}
}

// abandon ends an attempt in place of its code or completer, unless one of them was faster.
func (w *Worker) abandon(working context.Context, a *Attempt, cause, err error) {
	given, code, ok := a.lifecycle.end(whyOver(cause, false))
	if !ok {
		return
	}
	if code {
		w.Count.AttemptsLeaked.Add(1)
		w.Watchdog.Enter(&a.Watched, LeakEntry(a, cause)) // no effect if it is on the list
	} else {
		w.Count.AttemptsPending.Add(-1)
	}
	if given == nil {
		given = &Outcome{Err: err}
	}
	w.EndedBy(working, a, cause, *given)
}
