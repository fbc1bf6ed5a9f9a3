package dispatcher

import (
	"context"
	"fmt"
	"sync"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/platform/goroutine"
)

// localAttempt is an attempt that began inside a turn. It connects the attempt with whoever deals with its end: the turn, then, should
// the commit make it a task, nobody until that is confirmed, then the task's report.
type localAttempt struct {
	*attempt

	mu    sync.Mutex
	then  func(ending) // does not block; nil: the end is kept
	ended *ending
	freed sync.Once // it no longer counts as work in flight of its own
}

// localWorker runs local activities, whose attempts begin inside turns.
type localWorker struct {
	*node

	worker    *worker
	live      context.Context         //nolint:containedctx // of all local activities
	cancelAll context.CancelCauseFunc // ends live
}

func newLocalWorker(w *worker) *localWorker {
	l := &localWorker{node: w.node, worker: w}
	l.live, l.cancelAll = context.WithCancelCause(w.working)
	return l
}

// ending is how an attempt ended, and why its context had ended by then, if it had.
type ending struct {
	output []byte
	err    error
	cause  error
}

// end ends the attempt.
func (l *localAttempt) end(e ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.then == nil {
		l.ended = &e
		return
	}
	l.then(e)
}

// hand changes who deals with the end; nil keeps it for the next.
func (l *localAttempt) hand(then func(ending)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.then = then
	if then != nil && l.ended != nil {
		then(*l.ended)
		l.ended = nil
	}
}

// free ends the counting of a local attempt. Only its turn or the watchdog still waits for its code.
func (w *localWorker) free(a *localAttempt) { a.freed.Do(w.work.Done) }

// start runs it on a goroutine of its own.
func (w *localWorker) start(a *localAttempt, then func(ending)) {
	w.work.Add()
	w.count.attemptsLocal.Add(1)
	a.then = then
	ctx, cancel := context.WithCancelCause(w.live)
	a.Cancel = cancel
	ctx, stop := w.worker.contextInTurn(ctx, a.attempt)
	go func() {
		a.watched.RunsOn(goroutine.ID())
		stopGrace := context.AfterFunc(ctx, func() { w.grace(a, context.Cause(ctx)) })
		var output []byte
		var err error
		returned := false
		defer func() {
			if !returned {
				err = w.worker.panicked(a.attempt, "called runtime.Goexit")
			}
			w.watchdog.Returned(&a.watched)
			stopGrace()
			e := ending{output: output, err: refuseLater(a.attempt, err), cause: context.Cause(ctx)}
			stop()
			cancel(nil)
			if !a.tryEnd(e.cause) {
				w.worker.discardLate(a.attempt, err)
				return
			}
			close(a.done)
			a.end(e)
		}()
		output, err = w.worker.runUser(ctx, a.attempt)
		returned = true
	}()
}

// grace has the watchdog wait for cancelled code. When the grace period is over,
// nothing else waits for it.
func (w *localWorker) grace(a *localAttempt, cause error) {
	what := attemptEntry(a.attempt, cause)
	what.Leave = func() { go w.abandon(a, cause) }
	w.watchdog.Enter(&a.watched, what)
	w.free(a)
}

// abandon ends an attempt in place of its code, unless that was faster.
func (w *localWorker) abandon(a *localAttempt, cause error) bool {
	if !a.tryEnd(cause) {
		return false
	}
	a.end(ending{err: fmt.Errorf("did not come back: %w", cause), cause: cause})
	return true
}

// goOn lets a local attempt that the commit made a task, with a slot, go on as its first one.
func (w *localWorker) goOn(working context.Context, a *localAttempt) {
	w.worker.adopt(a.attempt)
	counted := false
	a.freed.Do(func() { counted = true })
	if !counted {
		w.work.Add() // it was cancelled meanwhile
	}
	a.hand(func(e ending) {
		go w.worker.endedBy(working, a.attempt, e.cause, outcome{e.output, e.err})
	})
}

// orphan ends an attempt that began inside a turn and whose result has no use.
func (w *localWorker) orphan(a *localAttempt, cause error) {
	a.Cancel(cause)
	a.hand(func(ending) {})
	w.free(a)
}

// orphanAll is orphan for attempts whose turn was not stored.
func (w *localWorker) orphanAll(all map[int64]*localAttempt) {
	for _, a := range all {
		w.orphan(a, activity.ErrLeaseLost)
	}
}

// orphanUnstored is orphan for one that no task was made of, as its call was given up in the same turn, or the execution has ended.
func (w *localWorker) orphanUnstored(a *localAttempt, ended bool) {
	if ended {
		w.orphan(a, activity.ErrOrchestrationEnded)
		return
	}
	w.orphan(a, activity.ErrCancelled)
}
