package dispatcher

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
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
		w.executions.deliver(working, w.settle(working, a, a.cause(), o.output, o.err))
	})
	if !kept {
		w.count.attemptsPending.Add(-1)
	}
	return kept
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
