package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/provider"
)

// phase is how far an attempt is.
type phase uint8

const (
	phaseCode    phase = iota // user code runs
	phasePending              // it returned ErrPending
	phaseOver                 // somebody deals with the end
)

// outcome is what a completer gave.
type outcome struct {
	output []byte
	err    error
}

// life decides what ends an attempt: its code, its completer, or the watchdog.
type life struct {
	mu     sync.Mutex
	phase  phase
	given  *outcome
	settle func(outcome) // of a pending attempt
	why    error         // it is over
}

// end makes the caller deal with the end, if ok. given is the outcome of a
// completer, if there is one. code reports whether user code still runs.
func (l *life) end(why error) (given *outcome, code, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == phaseOver {
		return nil, false, false
	}
	code = l.phase == phaseCode
	l.phase, l.why = phaseOver, why
	return l.given, code, true
}

// wait makes an attempt pending, unless its completer was faster or it is over.
func (l *life) wait(settle func(outcome)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != phaseCode || l.given != nil {
		return false
	}
	l.phase, l.settle = phasePending, settle
	return true
}

func (l *life) pending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == phasePending
}

// give takes what a completer says. While code runs it is kept for the end of that.
func (l *life) give(o outcome) error {
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

// over returns why no outcome is taken any more; nil if one is.
func (l *life) over() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != phaseOver && l.given != nil {
		return activity.ErrAlreadyCompleted
	}
	return l.why
}

// later ends an attempt whose code has returned without a result. It implements activity.Later and manage.Owner.
type later struct {
	w *worker
	a *attempt
}

// Token implements activity.Later.
func (l *later) Token() string {
	l.a.Share()
	return tasktoken.Encode(tasktoken.Token{Task: l.a.Ref, Attempt: l.a.stored(), Holder: l.a.Token, Lease: l.w.cfg.Lease})
}

// End implements activity.Later.
func (l *later) End(output []byte, err error) error {
	if err == nil {
		err = l.w.judge.fits(l.a, output)
		if err != nil {
			return err
		}
	}
	return l.a.life.give(outcome{output, err})
}

// Cause implements activity.Later.
func (l *later) Cause() error {
	if err := l.a.life.over(); err != nil {
		return err
	}
	return l.a.cause()
}

// Leave implements manage.Owner.
func (l *later) Leave(ctx context.Context) {
	l.w.abandon(ctx, l.a, activity.ErrShutdown, activity.ErrShutdown)
}

// keepPending keeps an attempt whose code returned ErrPending: slot, lease and context stay, a goroutine
// does not. free ends the context when a completer has ended the attempt.
func (w *worker) keepPending(working, ctx context.Context, a *attempt, err error, free func()) bool {
	if !failure.Wraps(err, activity.ErrPending) || failure.Wraps(err, activity.ErrParked) || ctx.Err() != nil {
		return false
	}
	// It is counted first: once it is pending, others may end it.
	w.count.attemptsPending.Add(1)
	kept := a.life.wait(func(o outcome) {
		defer free()
		close(a.done)
		w.count.attemptsPending.Add(-1)
		w.endedBy(working, a, a.cause(), o)
	})
	if !kept {
		w.count.attemptsPending.Add(-1)
	}
	return kept
}

// endedBy ends an attempt with an outcome and goes on with its execution on another goroutine.
func (w *worker) endedBy(working context.Context, a *attempt, cause error, o outcome) {
	w.executions.deliver(working, w.settle(working, a, cause, o.output, o.err))
}

// tryEnd ends an attempt whose context has ended for the given cause, or has not. It reports whether nothing else was faster.
func (a *attempt) tryEnd(cause error) bool {
	_, _, ok := a.life.end(whyOver(cause, false))
	return ok
}

// whyOver returns the error of a completer that comes too late.
func whyOver(cause error, parked bool) error {
	switch {
	case parked:
		return activity.ErrParked
	case cause != nil:
		return cause
	}
	return activity.ErrAlreadyCompleted
}

// patient reports whether the completer of a pending attempt has the grace period: to stop, or to say
// that it was cancelled. For all other causes its outcome does not count any more.
func patient(cause error) bool {
	return errors.Is(cause, activity.ErrCancelled) || errors.Is(cause, activity.ErrShutdown)
}

// park gives the slot of an attempt back. From here on the task goes by its token alone.
func (w *worker) park(working context.Context, a *attempt) *result {
	if a.completion.Close() != nil {
		return w.settle(working, a, nil, nil, failure.NonRetryable(failure.New(failure.ErrInvalid,
			"activity %s gave its slot back, and what it gave OnComplete would be lost: do that where the activity is completed", a.call.Name)))
	}
	w.freeSlot(a)
	w.count.attemptsParked.Add(1)
	report := provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskPark, Details: a.Unsaved()}
	if !a.expires.IsZero() { // any node ends the attempt then
		report.Limit = max(time.Until(a.expires), time.Microsecond)
	}
	w.store.Report(working, report)
	w.manage.Remove(&a.Attempt)
	w.over(a)
	return nil
}

// grace has the watchdog wait for the code of a cancelled attempt, or waits for the completer of a pending one. After the
// grace period the attempt is given up: its slot is freed and its task dealt with as if it had ended.
func (w *worker) grace(working context.Context, a *attempt, cause error) {
	if a.life.pending() {
		w.gracePending(working, a, cause)
		return
	}
	what := attemptEntry(a, cause)
	what.Leave = func() {
		// It talks to the storage, for which the watchdog must not wait.
		go w.abandon(working, a, cause, fmt.Errorf("did not end within the grace period of %v: %w", w.cfg.GracePeriod, cause))
	}
	w.watchdog.Enter(&a.watched, what)
}

// gracePending waits for whoever works on a pending attempt to end it. It has no code here that could leak.
func (w *worker) gracePending(working context.Context, a *attempt, cause error) {
	period := w.cfg.GracePeriod
	if !patient(cause) {
		period = 0
	}
	timer := time.NewTimer(period)
	defer timer.Stop()
	select {
	case <-timer.C:
		w.abandon(working, a, cause, fmt.Errorf("did not end within the grace period of %v: %w", period, cause))
	case <-a.done:
	case <-working.Done():
	}
}

// abandon ends an attempt in place of its code or its completer, unless those were faster.
func (w *worker) abandon(working context.Context, a *attempt, cause, err error) {
	given, code, ok := a.life.end(whyOver(cause, false))
	if !ok {
		return
	}
	if code {
		w.count.attemptsLeaked.Add(1)
		w.watchdog.Enter(&a.watched, attemptEntry(a, cause)) // unless it is on the list
	} else {
		w.count.attemptsPending.Add(-1)
	}
	if given == nil {
		given = &outcome{err: err}
	}
	w.endedBy(working, a, cause, *given)
}

func attemptEntry(a *attempt, cause error) leak.Entry {
	return leak.Entry{Key: a.Ref.Key, Interrupt: a.user.Interrupt, Work: leak.Work{
		Kind: leak.Activity, Name: a.call.Name, InstanceID: a.instanceID, Execution: a.Ref.Execution,
		Attempt: int(a.number), Cause: cause.Error(),
	}}
}

func completionEntry(a *attempt) leak.Entry {
	what := attemptEntry(a, fmt.Errorf("its transaction could wait for %v", functionTimeout))
	what.Kind, what.Interrupt = leak.Completion, nil
	return what
}
