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
	"github.com/perdure/perdure/internal/bind"
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

// localWorker runs local activities, whose attempts begin inside turns.
type localWorker struct {
	*node

	worker    *worker
	judge     *judge
	live      context.Context         //nolint:containedctx // of all local activities
	cancelAll context.CancelCauseFunc // ends live
}

func newLocalWorker(w *worker) *localWorker {
	l := &localWorker{node: w.node, worker: w, judge: w.judge}
	l.live, l.cancelAll = context.WithCancelCause(w.working)
	return l
}

// ending is how an attempt ended, and why its context had ended by then, if it had.
type ending struct {
	outcome
	cause error
}

// end ends the attempt.
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

// free ends the counting of a local attempt. Only its turn or the watchdog still waits for its code.
func (w *localWorker) free(a *attempt) { a.local.freed.Do(w.work.Done) }

// newLocal makes the attempt of a local activity.
func (w *localWorker) newLocal(ref provider.TaskRef, instanceID string, call *history.ActivityScheduled, failed int64) *attempt {
	return &attempt{
		Attempt: manage.Attempt{Ref: ref}, call: call, instanceID: instanceID, number: failed + 1, before: failed, deliveries: 1,
		began: w.clock.Now(), done: make(chan struct{}), user: &bind.Attempt{}, local: &local{},
	}
}

// start runs it on a goroutine of its own.
func (w *localWorker) start(a *attempt, then func(ending)) {
	w.work.Add()
	w.count.attemptsLocal.Add(1)
	a.local.then = then
	ctx, cancel := context.WithCancelCause(w.live)
	a.Cancel = cancel
	ctx, stop := w.contextOf(ctx, a)
	a.cause = func() error { return context.Cause(ctx) }
	go func() {
		a.watched.RunsOn(goroutine.ID())
		stopGrace := context.AfterFunc(ctx, func() { w.grace(a, context.Cause(ctx)) })
		var output []byte
		var err error
		returned := false
		defer func() {
			if !returned {
				err = w.worker.panicked(a, "called runtime.Goexit")
			}
			w.watchdog.Returned(&a.watched)
			stopGrace()
			e := ending{outcome{output, endsLater(a, err)}, context.Cause(ctx)}
			stop()
			cancel(nil)
			if _, _, ok := a.life.end(whyOver(e.cause, false)); !ok {
				w.worker.discardLate(a, err)
				return
			}
			close(a.done)
			a.local.end(e)
		}()
		output, err = w.worker.runUser(ctx, a)
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

// grace has the watchdog wait for cancelled code. When the grace period is over,
// nothing else waits for it.
func (w *localWorker) grace(a *attempt, cause error) {
	what := attemptEntry(a, cause)
	what.Leave = func() { go w.abandon(a, cause) }
	w.watchdog.Enter(&a.watched, what)
	w.free(a)
}

// abandon ends an attempt in place of its code, unless that was faster.
func (w *localWorker) abandon(a *attempt, cause error) bool {
	if _, _, ok := a.life.end(whyOver(cause, false)); !ok {
		return false
	}
	a.local.end(ending{outcome{err: fmt.Errorf("did not come back: %w", cause)}, cause})
	return true
}

// goOn lets a local attempt that the commit made a task, with a slot, go on as its first one.
func (w *localWorker) goOn(working context.Context, a *attempt) {
	w.count.attemptsRunning.Add(1)
	a.later = later{w.worker, a}
	a.Owner = &a.later
	w.manage.Add(&a.Attempt)
	counted := false
	a.local.freed.Do(func() { counted = true })
	if !counted {
		w.work.Add() // it was cancelled meanwhile
	}
	a.local.hand(func(e ending) {
		go func() { w.worker.executions.deliver(working, w.worker.settle(working, a, e.cause, e.output, e.err)) }()
	})
}

// orphan ends an attempt that began inside a turn and whose result has no use.
func (w *localWorker) orphan(a *attempt, cause error) {
	a.Cancel(cause)
	a.local.hand(func(ending) {})
	w.free(a)
}

// orphanAll is orphan for attempts whose turn was not stored.
func (w *localWorker) orphanAll(all map[int64]*attempt) {
	for _, a := range all {
		w.orphan(a, activity.ErrLeaseLost)
	}
}

// orphanUnstored is orphan for one that no task was made of, as its call was given up in the same turn, or the execution has ended.
func (w *localWorker) orphanUnstored(a *attempt, ended bool) {
	if ended {
		w.orphan(a, activity.ErrOrchestrationEnded)
		return
	}
	w.orphan(a, activity.ErrCancelled)
}

// contextOf is what the function of a local activity gets. It belongs to no task.
func (w *localWorker) contextOf(ctx context.Context, a *attempt) (context.Context, context.CancelFunc) {
	a.completion.Refuse(errLocalCompletion)
	ctx, stop := w.worker.contextOf(ctx, a)
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

// localIdentity distinguishes a call from all others of its execution. It has no event yet, and when its turn is repeated other
// messages may come first, so that another call gets the same number.
func localIdentity(call *history.ActivityScheduled) string {
	sum := sha256.Sum256(append([]byte(call.Name+"\x00"), call.Input...))
	return "local-" + strconv.FormatInt(call.Local, 10) + "-" + hex.EncodeToString(sum[:8])
}
