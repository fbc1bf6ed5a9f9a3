// Package local runs local activities inside turns. Package turn calls it. It knows attempts but neither turns nor commits.
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

// Attempt is an attempt that began inside a turn, and the receiver of its end. That is the turn; while a commit makes the attempt a task,
// nothing; after the commit, the task's report.
type Attempt struct {
	*task.Attempt

	mu    sync.Mutex
	onEnd func(ending) // must not block; nil: the end is kept
	ended *ending
	freed sync.Once // no longer counted as work in flight
}

// Worker runs local activities, whose attempts begin inside turns.
type Worker struct {
	*core.Node

	worker    *task.Worker
	live      context.Context         //nolint:containedctx // of all local activities
	CancelAll context.CancelCauseFunc // ends live
}

// New makes a worker for the turns of a node.
func New(w *task.Worker) *Worker {
	l := &Worker{Node: w.Node, worker: w}
	l.live, l.CancelAll = context.WithCancelCause(w.Working)
	return l
}

// ending is the outcome of an attempt and the cause of its context, if that had ended.
type ending struct {
	output []byte
	err    error
	cause  error
}

// end passes the outcome on, or keeps it.
func (l *Attempt) end(e ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onEnd == nil {
		l.ended = &e
		return
	}
	l.onEnd(e)
}

// setReceiver changes the receiver of the end. nil keeps the end for the next receiver.
func (l *Attempt) setReceiver(onEnd func(ending)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onEnd = onEnd
	if onEnd != nil && l.ended != nil {
		onEnd(*l.ended)
		l.ended = nil
	}
}

// free stops counting a local attempt as work in flight. Its turn or the watchdog still waits for its code.
func (w *Worker) free(a *Attempt) { a.freed.Do(w.Work.Done) }

// start runs an attempt on its own goroutine.
func (w *Worker) start(a *Attempt, onEnd func(ending)) {
	w.Work.Add()
	w.Count.AttemptsLocal.Add(1)
	a.onEnd = onEnd
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
			first := a.TryEnd(e.cause) // before its context ends: whoever concludes the turn would take it for cancelled
			stop()
			cancel(nil)
			if !first {
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

// grace adds cancelled code to the watchdog. The attempt is abandoned when the grace period is over.
func (w *Worker) grace(a *Attempt, cause error) {
	a.AsksToStop()
	what := task.LeakEntry(a.Attempt, cause)
	what.Leave = func() { go w.abandon(a, cause) }
	w.Watchdog.Enter(&a.Watched, what)
	w.free(a)
}

// abandon ends an attempt in place of its code. It returns false if the code was faster.
func (w *Worker) abandon(a *Attempt, cause error) bool {
	if !a.TryEnd(cause) {
		return false
	}
	a.end(ending{err: fmt.Errorf("did not come back: %w", cause), cause: cause})
	return true
}

// ContinueAsTask continues an attempt as the first one of the task that the commit made of it. Its slot is taken.
func (w *Worker) ContinueAsTask(working context.Context, a *Attempt) {
	w.worker.Adopt(a.Attempt)
	counted := false
	a.freed.Do(func() { counted = true })
	if !counted {
		w.Work.Add() // it was cancelled meanwhile
	}
	a.setReceiver(func(e ending) {
		go w.worker.EndedBy(working, a.Attempt, e.cause, task.Outcome{Output: e.output, Err: e.err})
	})
}

// Detach cancels an attempt whose result is useless, and drops the result.
func (w *Worker) Detach(a *Attempt, cause error) {
	a.Cancel(cause)
	a.setReceiver(func(ending) {})
	w.free(a)
}

// DetachAll detaches attempts whose turn was not stored.
func (w *Worker) DetachAll(all map[int64]*Attempt) {
	for _, a := range all {
		w.Detach(a, activity.ErrLeaseLost)
	}
}

// DetachUnstored detaches an attempt that became no task, because its call was cancelled in the same turn or the execution has ended.
func (w *Worker) DetachUnstored(a *Attempt, ended bool) {
	if ended {
		w.Detach(a, activity.ErrOrchestrationEnded)
		return
	}
	w.Detach(a, activity.ErrCancelled)
}
