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

// errAlreadyCompleted is the cause of an attempt whose result has come another way.
var errAlreadyCompleted = activity.ErrAlreadyCompleted

// phase is how far an attempt is.
type phase uint8

const (
	phaseCode    phase = iota // user code runs
	phasePending              // it came back with ErrPending
	phaseOver                 // somebody deals with the end
)

// outcome is what a completer gave.
type outcome struct {
	output []byte
	err    error
}

// life decides who ends an attempt: its code, its completer, or who gives it up.
type life struct {
	mu     sync.Mutex
	phase  phase
	given  *outcome
	settle func(outcome) // of a pending attempt
	why    error         // it is over
}

// end makes the caller the one who deals with the end, if ok. given is what a completer
// said before; code tells that user code still runs.
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
		return errAlreadyCompleted
	}
	l.given = &o
	if l.phase == phasePending {
		l.phase, l.why = phaseOver, errAlreadyCompleted
		go l.settle(o)
	}
	return nil
}

// over answers why nothing can be given any more; nil if something can.
func (l *life) over() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != phaseOver && l.given != nil {
		return errAlreadyCompleted
	}
	return l.why
}

// later ends an attempt whose code has returned without a result. It implements activity.Later and manage.Owner.
type later struct {
	d *Dispatcher
	a *attempt
}

// Token implements activity.Later.
func (l *later) Token() string {
	l.a.Share()
	return tasktoken.Encode(tasktoken.Token{Task: l.a.Ref, Attempt: l.a.stored(), Holder: l.a.Token, Lease: l.d.cfg.Lease})
}

// End implements activity.Later.
func (l *later) End(output []byte, err error) error {
	if err == nil {
		err = l.d.fits(l.a, output)
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
	l.d.leaveAttempt(ctx, l.a, errShutdown, errShutdown)
}

// keepPending keeps an attempt whose code came back with ErrPending: slot, lease and context stay, a goroutine
// does not. free ends the context when a completer has ended the attempt.
func (d *Dispatcher) keepPending(working, ctx context.Context, a *attempt, err error, free func()) bool {
	if !failure.Wraps(err, activity.ErrPending) || failure.Wraps(err, activity.ErrParked) || ctx.Err() != nil {
		return false
	}
	// It is counted first: once it is pending, others may end it.
	d.count.attemptsPending.Add(1)
	kept := a.life.wait(func(o outcome) {
		defer free()
		close(a.done)
		d.count.attemptsPending.Add(-1)
		d.deliver(working, d.settle(working, a, a.cause(), o.output, o.err))
	})
	if !kept {
		d.count.attemptsPending.Add(-1)
	}
	return kept
}

// whyOver is what a completer hears that comes too late.
func whyOver(cause error, parked bool) error {
	switch {
	case parked:
		return activity.ErrParked
	case cause != nil:
		return cause
	}
	return errAlreadyCompleted
}

// patient tells whether who works on a pending attempt may use the grace period: to stop, or to say
// that it was cancelled. For all other causes its word does not count any more.
func patient(cause error) bool {
	return errors.Is(cause, errCancelled) || errors.Is(cause, errShutdown)
}

// park gives the slot of an attempt back. From here on the task goes by its token alone.
func (d *Dispatcher) park(working context.Context, a *attempt) *result {
	if a.completion.Close() != nil {
		return d.settle(working, a, nil, nil, failure.NonRetryable(failure.New(failure.ErrInvalid,
			"activity %s gave its slot back, and what it gave OnComplete would be lost: do that where the activity is completed", a.call.Name)))
	}
	d.attemptEnded(a)
	d.count.attemptsParked.Add(1)
	report := provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskPark, Details: a.Unsaved()}
	if !a.expires.IsZero() { // any node ends the attempt then
		report.Limit = max(time.Until(a.expires), time.Microsecond)
	}
	d.store.Report(working, report)
	d.manage.Remove(&a.Attempt)
	d.attemptOver(a)
	return nil
}
