// Package local runs local activities inside turns. What does not end within the turn's time becomes a task in its commit. Package turn
// calls it; it knows attempts, and neither turns nor commits.
package local

import (
	"context"
	"fmt"
	"sync"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/platform/goroutine"
)

// Attempt is an attempt that began inside a turn. It connects the attempt with whoever deals with its end: the turn, then, should
// the commit make it a task, nobody until that is confirmed, then the task's report.
type Attempt struct {
	*task.Attempt

	mu    sync.Mutex
	then  func(ending) // does not block; nil: the end is kept
	ended *ending
	freed sync.Once // it no longer counts as work in flight of its own
}

// Worker runs local activities, whose attempts begin inside turns.
type Worker struct {
	*core.Node

	worker    *task.Worker
	live      context.Context         //nolint:containedctx // of all local activities
	CancelAll context.CancelCauseFunc // ends live
}

func New(w *task.Worker) *Worker {
	l := &Worker{Node: w.Node, worker: w}
	l.live, l.CancelAll = context.WithCancelCause(w.Working)
	return l
}

// ending is how an attempt ended, and why its context had ended by then, if it had.
type ending struct {
	output []byte
	err    error
	cause  error
}

// end ends the attempt.
func (l *Attempt) end(e ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.then == nil {
		l.ended = &e
		return
	}
	l.then(e)
}

// hand changes who deals with the end; nil keeps it for the next.
func (l *Attempt) hand(then func(ending)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.then = then
	if then != nil && l.ended != nil {
		then(*l.ended)
		l.ended = nil
	}
}

// free ends the counting of a local attempt. Only its turn or the watchdog still waits for its code.
func (w *Worker) free(a *Attempt) { a.freed.Do(w.Work.Done) }

// start runs it on a goroutine of its own.
func (w *Worker) start(a *Attempt, then func(ending)) {
	w.Work.Add()
	w.Count.AttemptsLocal.Add(1)
	a.then = then
	ctx, cancel := context.WithCancelCause(w.live)
	a.Cancel = cancel
	ctx, stop := w.worker.ContextInTurn(ctx, a.Attempt)
	go func() {
		a.Watched.RunsOn(goroutine.ID())
		stopGrace := context.AfterFunc(ctx, func() { w.grace(a, context.Cause(ctx)) })
		var output []byte
		var err error
		returned := false
		defer func() {
			if !returned {
				err = w.worker.Panicked(a.Attempt, "called runtime.Goexit")
			}
			w.Watchdog.Returned(&a.Watched)
			stopGrace()
			e := ending{output: output, err: task.RefuseLater(a.Attempt, err), cause: context.Cause(ctx)}
			stop()
			cancel(nil)
			if !a.TryEnd(e.cause) {
				w.worker.DiscardLate(a.Attempt, err)
				return
			}
			close(a.Done)
			a.end(e)
		}()
		output, err = w.worker.RunUser(ctx, a.Attempt)
		returned = true
	}()
}

// grace has the watchdog wait for cancelled code. When the grace period is over,
// nothing else waits for it.
func (w *Worker) grace(a *Attempt, cause error) {
	what := task.LeakEntry(a.Attempt, cause)
	what.Leave = func() { go w.abandon(a, cause) }
	w.Watchdog.Enter(&a.Watched, what)
	w.free(a)
}

// abandon ends an attempt in place of its code, unless that was faster.
func (w *Worker) abandon(a *Attempt, cause error) bool {
	if !a.TryEnd(cause) {
		return false
	}
	a.end(ending{err: fmt.Errorf("did not come back: %w", cause), cause: cause})
	return true
}

// GoOn lets a local attempt that the commit made a task, with a slot, go on as its first one.
func (w *Worker) GoOn(working context.Context, a *Attempt) {
	w.worker.Adopt(a.Attempt)
	counted := false
	a.freed.Do(func() { counted = true })
	if !counted {
		w.Work.Add() // it was cancelled meanwhile
	}
	a.hand(func(e ending) {
		go w.worker.EndedBy(working, a.Attempt, e.cause, task.Outcome{Output: e.output, Err: e.err})
	})
}

// Detach ends an attempt that began inside a turn and whose result has no use.
func (w *Worker) Detach(a *Attempt, cause error) {
	a.Cancel(cause)
	a.hand(func(ending) {})
	w.free(a)
}

// DetachAll is orphan for attempts whose turn was not stored.
func (w *Worker) DetachAll(all map[int64]*Attempt) {
	for _, a := range all {
		w.Detach(a, activity.ErrLeaseLost)
	}
}

// DetachUnstored is orphan for one that no task was made of, as its call was given up in the same turn, or the execution has ended.
func (w *Worker) DetachUnstored(a *Attempt, ended bool) {
	if ended {
		w.Detach(a, activity.ErrOrchestrationEnded)
		return
	}
	w.Detach(a, activity.ErrCancelled)
}
