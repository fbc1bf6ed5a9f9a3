package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// calls are the local activities of one turn. The turn spends a limited time on them. Calls that have not ended by then become tasks in its
// commit, so nothing of them remains between turns.
type calls struct {
	w        *Worker
	working  context.Context //nolint:containedctx // of the turn
	x        *replay.Execution
	until    time.Time
	calls    map[int64]*localCall // by number
	settled  []*localCall         // have an outcome for the code
	promoted map[int64]*Attempt

	observed []*task.Ended // for the Observer, when the turn is stored
	tallies  []task.Tally  // for figures, when the turn is stored

	wake chan struct{} // capacity 1: an attempt has ended
	mu   sync.Mutex
	ends []attemptEnd
	all  []*Attempt // ever begun
}

// localCall is the state of one call.
type localCall struct {
	call      *history.ActivityScheduled
	running   *Attempt // nil: it waits for its next attempt
	failed    int64    // attempts
	previous  *Attempt // the last one that failed; nil: none
	scheduled provider.Time
	retryAt   time.Time // when the next one begins
	answer    history.Body
}

type attemptEnd struct {
	a *Attempt
	e ending
}

// Current refers to the local activities of a turn in progress, if it has any.
type Current struct{ now atomic.Pointer[calls] }

// Ended returns the attempts that ended in the turn, for the Observer.
func (c *Current) Ended() []*task.Ended {
	if l := c.now.Load(); l != nil {
		return l.observed
	}
	return nil
}

// Tallies returns what figures count of the attempts that ended in the turn.
func (c *Current) Tallies() []task.Tally {
	if l := c.now.Load(); l != nil {
		return l.tallies
	}
	return nil
}

// Cancel cancels all attempts, on any goroutine.
func (c *Current) Cancel(cause error) {
	if l := c.now.Load(); l != nil {
		l.cancel(cause)
	}
}

// Run runs the local activities of a turn until the code waits for none or the turn's time for them is over. It returns the attempts that
// the turn's commit makes tasks, by number of their call.
func (w *Worker) Run(working context.Context, x *replay.Execution, current *Current) (promoted map[int64]*Attempt, err error) {
	if len(x.View().Locals()) == 0 {
		return promoted, nil
	}
	l := &calls{
		w: w, working: working, x: x, until: time.Now().Add(min(w.Config.LocalTime, w.Config.Lease/3)),
		calls: make(map[int64]*localCall), wake: make(chan struct{}, 1), promoted: make(map[int64]*Attempt),
	}
	current.now.Store(l)
	returned := false
	defer func() {
		l.stop()
		if !returned { // the turn failed, or its code called Goexit
			w.DetachAll(l.promoted)
		}
	}()
	if err := l.runAll(); err != nil { //nolint:contextcheck // the context of local activities is the node's
		return promoted, err
	}
	returned = true
	return l.promoted, nil
}

// runAll runs the calls until they end or the turn's time is over.
func (l *calls) runAll() error {
	x := l.x
	for len(x.View().Locals()) > 0 && !x.View().TurnFull() {
		l.startAndCancel()
		body, err := l.next()
		if err != nil {
			return err
		}
		if body == nil {
			break
		}
		if err := l.deliver(body); err != nil {
			return err
		}
	}
	l.until = time.Now()
	for len(x.View().Locals()) > 0 {
		if err := l.deliver(l.conclude(x.View().Locals()[0])); err != nil {
			return err
		}
	}
	return nil
}

func (l *calls) deliver(body history.Body) error {
	if _, ok := body.(*history.LocalQueued); ok {
		l.w.Count.LocalsQueued.Add(1)
	}
	_, err := l.x.Deliver(history.Event{At: int64(l.w.Clock.Now()), Body: body})
	return err
}

// startAndCancel starts the calls that the code has made and cancels those that it has cancelled.
func (l *calls) startAndCancel() {
	wanted := make(map[int64]bool)
	for _, c := range l.x.View().Locals() {
		n := c.Call.Local
		wanted[n] = true
		call := l.calls[n]
		switch {
		case call == nil:
			call = &localCall{call: c.Call, scheduled: l.w.Clock.Now()}
			l.calls[n] = call
			switch {
			case c.Cancelled:
				l.settle(call, l.w.cancelled(call))
			case !l.w.runsInTurn(c.Call):
				l.settle(call, queued(call, 0))
			default:
				l.begin(call)
			}
		case c.Cancelled && call.running != nil:
			call.running.Cancel(activity.ErrCancelled)
		case c.Cancelled && call.answer == nil:
			l.settle(call, l.w.cancelled(call))
		}
	}
	for n, call := range l.calls {
		if !wanted[n] {
			l.giveUp(call)
			delete(l.calls, n)
		}
	}
}

// runsInTurn reports whether an activity may run inside the turn. Only the queue enforces limits and sessions.
func (w *Worker) runsInTurn(call *history.ActivityScheduled) bool {
	return w.Config.LocalTime > 0 && w.Accepting() && !w.worker.Paused(call.Queue) && w.Config.Serves(call.Queue, call.Name) &&
		!w.worker.MustQueue(call)
}

func (l *calls) begin(call *localCall) {
	info := l.x.View().Info()
	a := &Attempt{Attempt: l.w.worker.NewInTurn(task.Ref(info.Key, info.Execution, 0), info.ID, call.call, call.failed, call.scheduled)}
	a.Caller = l.x.View().EncodedCaller()
	if l.w.Watch.On() {
		a.Of = l.x.View().Caller()
	}
	if call.previous != nil {
		a.Follows(call.previous.Attempt)
	}
	call.running = a
	l.mu.Lock()
	l.all = append(l.all, a)
	l.mu.Unlock()
	l.w.start(a, func(e ending) { l.push(attemptEnd{a, e}) })
}

// push adds the end of an attempt. Any goroutine may call it.
func (l *calls) push(c attemptEnd) {
	l.mu.Lock()
	l.ends = append(l.ends, c)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	l.w.free(c.a)
}

// take removes and returns the first end, or that of the given attempt.
func (l *calls) take(of *Attempt) (attemptEnd, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range l.ends {
		if of == nil || c.a == of {
			l.ends = append(l.ends[:i:i], l.ends[i+1:]...)
			return c, true
		}
	}
	return attemptEnd{}, false
}

func (l *calls) settle(call *localCall, body history.Body) {
	call.answer = body
	l.settled = append(l.settled, call)
}

// next returns the next outcome for the code, or nil if the turn's time is over.
func (l *calls) next() (history.Body, error) {
	for {
		if len(l.settled) > 0 {
			call := l.settled[0]
			l.settled = l.settled[1:]
			return call.answer, nil
		}
		if c, ok := l.take(nil); ok {
			if call := l.calls[c.a.Call.Local]; call != nil && call.running == c.a {
				l.ended(call, c.e)
			}
			continue
		}
		wait := l.retry(time.Now())
		if wait <= 0 {
			return nil, nil //nolint:nilnil // see above
		}
		timer := time.NewTimer(wait)
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.working.Done():
			timer.Stop()
			return nil, &core.StorageError{Err: fmt.Errorf("waiting for local activities: %w", context.Cause(l.working))}
		}
		timer.Stop()
	}
}

// retry starts the attempts that are due and returns the time until the next one. It returns zero if the turn's time is over.
func (l *calls) retry(now time.Time) time.Duration {
	wait := l.until.Sub(now)
	if wait <= 0 {
		return 0
	}
	for _, call := range l.calls {
		switch {
		case call.running != nil || call.answer != nil:
		case call.retryAt.After(now):
			wait = min(wait, call.retryAt.Sub(now))
		case l.w.runsInTurn(call.call):
			l.begin(call)
		default:
			l.settle(call, queued(call, 0))
			wait = min(wait, time.Nanosecond) // outcomes come first
		}
	}
	return wait
}

// ended handles the end of an attempt: the code gets the result, or there is another attempt.
func (l *calls) ended(call *localCall, e ending) {
	w, a := l.w, call.running
	call.running = nil
	switch {
	case e.err == nil:
		w.Count.AttemptsCompleted.Add(1)
		l.note(a, e.cause, observe.Completed)
		l.settle(call, &history.LocalEnded{Call: call.call.Local, Name: call.call.Name, Output: e.output, Attempt: a.Number})
		return
	case errors.Is(e.cause, activity.ErrShutdown):
		w.Count.AttemptsReleased.Add(1)
		l.note(a, e.cause, observe.Released)
		l.settle(call, queued(call, 0))
		return
	}
	f, delay, again := w.worker.FailedInTurn(a.Attempt, e.cause, e.err)
	if !again {
		l.note(a, e.cause, task.FailedFor(a.Attempt, e.cause))
		l.settle(call, &history.LocalEnded{Call: call.call.Local, Name: call.call.Name, Failure: &f, Attempt: a.Number})
		return
	}
	l.note(a, e.cause, observe.Retried)
	call.failed, call.previous = a.Number, a
	if now := time.Now(); delay < l.until.Sub(now) {
		call.retryAt = now.Add(delay)
		return
	}
	l.settle(call, queued(call, delay))
}

// note keeps the end of an attempt for the Observer and for figures.
func (l *calls) note(a *Attempt, cause error, outcome observe.Outcome) {
	if l.w.Config.Figures != nil {
		l.tallies = append(l.tallies, a.Tally(outcome))
	}
	if e := l.w.worker.Ended(a.Attempt, cause, outcome); e != nil {
		l.observed = append(l.observed, e)
	}
}

func queued(call *localCall, delay time.Duration) history.Body {
	return &history.LocalQueued{
		Call: call.call.Local, Name: call.call.Name, Attempts: call.failed, Delay: max(delay, 0).Microseconds(),
	}
}

// cancelled returns the end of a cancelled call without a running attempt.
func (w *Worker) cancelled(call *localCall) history.Body {
	f := w.Config.Env.Errors.Encode(failure.NonRetryable(failure.New(failure.ErrCancelled, "activity was cancelled while it did not run")))
	return &history.LocalEnded{Call: call.call.Local, Name: call.call.Name, Failure: &f, Attempt: call.failed}
}

// conclude returns the outcome of a call when the turn's time is over. An attempt that was not cancelled continues as a
// task of this node. A cancelled one is abandoned.
func (l *calls) conclude(c *replay.LocalCall) history.Body {
	call := l.calls[c.Call.Local]
	switch {
	case call == nil && !c.Cancelled:
		return queued(&localCall{call: c.Call}, 0)
	case call == nil:
		return l.w.cancelled(&localCall{call: c.Call})
	case call.answer != nil:
		return call.answer
	case call.running == nil && c.Cancelled:
		return l.w.cancelled(call)
	case call.running == nil:
		return queued(call, time.Until(call.retryAt))
	}
	a := call.running
	if c.Cancelled {
		a.Cancel(activity.ErrCancelled)
	}
	if a.Cause() == nil {
		a.setReceiver(nil)
	} else if !l.w.abandon(a, a.Cause()) {
		l.await(a)
	}
	if end, ok := l.take(a); ok {
		l.ended(call, end.e)
		return call.answer // the time is over, so there is no other attempt
	}
	l.promoted[c.Call.Local] = a
	return queued(call, 0)
}

// await waits for the end of an attempt that is over.
func (l *calls) await(a *Attempt) {
	for {
		l.mu.Lock()
		for _, c := range l.ends {
			if c.a == a {
				l.mu.Unlock()
				return
			}
		}
		l.mu.Unlock()
		<-l.wake
	}
}

// giveUp ends a call that the code no longer waits for. With CancelAbandon the activity runs on, unless the execution has ended.
func (l *calls) giveUp(call *localCall) {
	switch a := call.running; {
	case a == nil:
	case l.x.View().Ended():
		l.w.Detach(a, activity.ErrOrchestrationEnded)
	case call.call.Cancellation == history.CancelAbandon && l.x.View().Fault() == nil:
		a.setReceiver(func(ending) { l.w.free(a) })
	default:
		l.w.Detach(a, activity.ErrCancelled)
	}
}

// stop detaches what the turn leaves behind. It runs however the turn ends.
func (l *calls) stop() {
	wanted := make(map[int64]bool)
	for _, c := range l.x.View().Locals() {
		wanted[c.Call.Local] = true
	}
	for n, call := range l.calls {
		switch {
		case l.promoted[n] != nil:
		case wanted[n] && call.running != nil: // the turn failed
			l.w.Detach(call.running, activity.ErrLeaseLost)
		case !wanted[n]:
			l.giveUp(call)
		}
	}
}

// cancel cancels all attempts. Any goroutine may call it.
func (l *calls) cancel(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.all {
		a.Cancel(cause)
	}
}
