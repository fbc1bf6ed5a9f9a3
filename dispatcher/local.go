package dispatcher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/provider"
)

// local connects an attempt that began inside a turn with whoever deals with its end: the turn, then, should the commit
// make it a task, nobody until that is confirmed, then the task's report.
type local struct {
	mu    sync.Mutex
	then  func(ending) // does not block; nil: the end is kept
	ended *ending
	freed sync.Once // it no longer counts as work in flight of its own
}

// ending is how an attempt ended, and why its context had ended by then, if it had.
type ending struct {
	outcome
	cause error
}

// end tells that the attempt is over.
func (l *local) end(e ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.then == nil {
		l.ended = &e
		return
	}
	l.then(e)
}

// hand changes who deals with the end; nil keeps it for the next.
func (l *local) hand(then func(ending)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.then = then
	if then != nil && l.ended != nil {
		then(*l.ended)
		l.ended = nil
	}
}

// free ends the counting of a local attempt. Who waits for its code even so is its turn, or the watchdog.
func (d *Dispatcher) free(a *attempt) { a.local.freed.Do(d.work.Done) }

// newLocal makes the attempt of a local activity.
func (d *Dispatcher) newLocal(ref provider.TaskRef, instanceID string, call *history.ActivityScheduled, failed int64) *attempt {
	return &attempt{
		Attempt: manage.Attempt{Ref: ref}, call: call, instanceID: instanceID, number: failed + 1, before: failed, deliveries: 1,
		began: d.clock.Now(), done: make(chan struct{}), user: &activity.Attempt{}, local: &local{},
	}
}

// startLocal runs it on a goroutine of its own.
func (d *Dispatcher) startLocal(a *attempt, then func(ending)) {
	d.work.Add()
	d.count.attemptsLocal.Add(1)
	a.local.then = then
	ctx, cancel := context.WithCancelCause(d.localsLive)
	a.Cancel = cancel
	ctx, stop := d.localContext(ctx, a)
	a.cause = func() error { return context.Cause(ctx) }
	go func() {
		a.watched.RunsOn(goroutine.ID())
		stopGrace := context.AfterFunc(ctx, func() { d.graceLocal(a, context.Cause(ctx)) })
		var output []byte
		var err error
		returned := false
		defer func() {
			if !returned {
				err = d.panicked(a, "called runtime.Goexit")
			}
			d.watchdog.Returned(&a.watched)
			stopGrace()
			e := ending{outcome{output, endsLater(a, err)}, context.Cause(ctx)}
			stop()
			cancel(nil)
			if _, _, ok := a.life.end(whyOver(e.cause, false)); !ok {
				d.cameLate(a, err)
				return
			}
			close(a.done)
			a.local.end(e)
		}()
		output, err = d.runUser(ctx, a)
		returned = true
	}()
}

// endsLater makes a failure of what asks to end later.
func endsLater(a *attempt, err error) error {
	if !failure.Wraps(err, activity.ErrPending) {
		return err
	}
	return failure.NonRetryable(failure.New(failure.ErrInvalid,
		"activity %s answered that it ends later, which a local activity cannot: call it with CallActivity", a.call.Name))
}

// graceLocal has the watchdog wait for code that was told to stop. When the grace period is over,
// nobody else waits for it.
func (d *Dispatcher) graceLocal(a *attempt, cause error) {
	what := attemptEntry(a, cause)
	what.Leave = func() { go d.leaveLocal(a, cause) }
	d.watchdog.Enter(&a.watched, what)
	d.free(a)
}

// leaveLocal ends an attempt in place of its code, unless that was faster.
func (d *Dispatcher) leaveLocal(a *attempt, cause error) bool {
	if _, _, ok := a.life.end(whyOver(cause, false)); !ok {
		return false
	}
	a.local.end(ending{outcome{err: fmt.Errorf("did not come back: %w", cause)}, cause})
	return true
}

// goOn lets a local attempt that the commit made a task, with a slot, go on as its first one.
func (d *Dispatcher) goOn(working context.Context, a *attempt) {
	d.count.attemptsRunning.Add(1)
	a.later = later{d, a}
	a.Owner = &a.later
	d.manage.Add(&a.Attempt)
	counted := false
	a.local.freed.Do(func() { counted = true })
	if !counted {
		d.work.Add() // it was told to stop meanwhile
	}
	a.local.hand(func(e ending) {
		go func() { d.deliver(working, d.settle(working, a, e.cause, e.output, e.err)) }()
	})
}

// orphan ends an attempt that began inside a turn, and whose result nobody wants.
func (d *Dispatcher) orphan(a *attempt, cause error) {
	if a.local != nil {
		a.Cancel(cause)
		a.local.hand(func(ending) {})
		d.free(a)
	}
}

// orphanUnstored is orphan for one that no task was made of, as its call was given up in the same turn, or the execution has ended.
func (d *Dispatcher) orphanUnstored(a *attempt, ended bool) {
	if ended {
		d.orphan(a, errOrchestrationEnded)
		return
	}
	d.orphan(a, errCancelled)
}

// localContext is what the function of a local activity gets. It belongs to no task.
func (d *Dispatcher) localContext(ctx context.Context, a *attempt) (context.Context, context.CancelFunc) {
	a.completion.Refuse(errLocalCompletion)
	ctx, stop := d.attemptContext(ctx, a)
	u := a.user
	u.Info.Local, u.Beat, u.Later = true, func([]byte) {}, neverLater{a}
	return ctx, stop
}

var errLocalCompletion = errors.New("a local activity runs before the commit that records it: call it with CallActivity")

// neverLater refuses to end a local activity later. It implements activity.Later.
type neverLater struct{ a *attempt }

// Token implements activity.Later.
func (l neverLater) Token() string { panic(endsLater(l.a, activity.ErrPending)) }

// End implements activity.Later.
func (l neverLater) End([]byte, error) error { return endsLater(l.a, activity.ErrPending) }

// Cause implements activity.Later.
func (l neverLater) Cause() error { return l.a.cause() }

// localIdentity tells a call from all others of its execution. It has no event yet, and when its turn is repeated other
// messages may come first, so that another call gets the same number.
func localIdentity(call *history.ActivityScheduled) string {
	sum := sha256.Sum256(append([]byte(call.Name+"\x00"), call.Input...))
	return "local-" + strconv.FormatInt(call.Local, 10) + "-" + hex.EncodeToString(sum[:8])
}
