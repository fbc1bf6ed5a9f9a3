package replay

import (
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// A history holds timers of these lengths. A release that changes abandonAfter does so under a new flag.
const (
	// defaultGrace is how long handlers go on when the main function has returned, in microseconds.
	defaultGrace = int64(10 * time.Minute / time.Microsecond)
	// abandonAfter is how long cancelled handlers go on, in microseconds.
	abandonAfter = int64(time.Minute / time.Microsecond)
)

// closing is the time from the return of the main function until the handlers have ended. Nothing new is accepted.
type closing struct {
	record    *history.MainReturned
	since     int64   // microseconds UTC
	stored    string  // ValueClosing, or "?" if that is not known
	cancelled bool    // the handlers are, by the engine
	timer     *Future // that cancels the handlers, or then abandons them; nil: none
	timerID   int64
}

// SetHandlerGrace sets how long handlers go on when the main function has returned, or calls ContinueLate.
func (s *Scope) SetHandlerGrace(d time.Duration) {
	s.x.sched.enter()
	s.x.job.grace = max(1, int64(d/time.Microsecond))
}

// finish records how the main function ended.
func (x *Execution) finish(r Result) {
	if r.Continue != nil && r.Continue.Name == "" {
		r.Continue.Name, r.Continue.CodeVersion = x.info.Name, x.nextVersion(r.KeepVersion)
	}
	if r.Continue == nil {
		x.job.taking = 0
		x.openDoor(x.job.shut)
		x.yieldToFreshRuns(x.sched.current.Load())
	} else {
		x.carryFreshRuns()
		if x.carriesQueues() {
			x.carryQueues()
		}
	}
	if x.job.holding > 0 && x.settings.Flags&flagHandlers != 0 {
		x.mainReturned(r)
		return
	}
	x.conclude(r)
}

// mainReturned records how the main function ended, while handlers go on. Its coroutines end, and what they have open is
// given up.
func (x *Execution) mainReturned(r Result) {
	want := &history.MainReturned{Output: r.Output, Failure: r.Failure, Cancelled: r.Cancelled, Next: r.Continue, Grace: x.job.handlerGrace()}
	x.events.emit(want)
	x.closing = &closing{record: x.events.recorded(want).(*history.MainReturned), since: x.now}
	if x.events.replaying.Load() {
		x.closing.stored = "?"
	}
	x.sched.endMain()
	reason := x.env.Errors.New(failure.ErrCancelled, "the function of the orchestration has returned")
	for _, id := range slices.Sorted(maps.Keys(x.pending.futures)) {
		if f := x.pending.futures[id]; f != nil && f.outlives && f.scope.run == nil {
			f.leaveAlone(reason)
		}
	}
	x.root.cancel(reason)
	for _, id := range slices.Sorted(maps.Keys(x.pending.futures)) {
		if f := x.pending.futures[id]; f != nil && f.scope.run == nil {
			f.giveUp(reason)
			if f.reply == nil && !f.stays {
				delete(x.pending.futures, id)
			}
		}
	}
	for _, local := range slices.Clone(x.locals.open) {
		if local.future.scope.run == nil {
			local.future.giveUp(reason)
			x.locals.drop(local)
		}
	}
}

// giveUp settles a future, even if code asked for the operation's own end.
func (f *Future) giveUp(reason error) {
	f.cancel(reason)
	if !f.settled {
		f.err = reason
		f.settle()
		f.endStart(reason)
	}
}

// endMain ends the coroutines of the main function. They stay parked until the execution is closed.
func (s *scheduler) endMain() {
	for _, co := range s.coroutines {
		co.over = co.over || co.run == nil
	}
	s.ready = slices.DeleteFunc(s.ready, func(co *coroutine) bool { return co.over })
	for _, co := range s.coroutines {
		if co.over {
			s.loseHeld(co)
		}
	}
}

// closeStep goes on with the end when all code is blocked. It reports whether code may run again.
func (x *Execution) closeStep() (again bool) {
	c := x.closing
	late := c.timer != nil && c.timer.settled || !x.waitsDurably()
	switch {
	case x.job.holding == 0, c.cancelled && late, x.overflows():
		x.conclude(Result{Output: c.record.Output, Failure: c.record.Failure, Cancelled: c.record.Cancelled, Continue: c.record.Next})
	case late:
		c.cancelled = true
		x.dropTimer()
		x.job.cancel(x.env.Errors.New(failure.ErrCancelled, "the function of the orchestration has returned, and its handlers must end"))
		return true
	case c.timer == nil && c.cancelled:
		x.armTimer(abandonAfter)
	case c.timer == nil:
		x.armTimer(c.record.Grace)
	}
	return false
}

// waitsDurably reports whether a message can come that handlers that hold the end may wait for.
func (x *Execution) waitsDurably() bool {
	for _, f := range x.pending.futures {
		if f != x.closing.timer && !f.settled && f.delaysEnd() {
			return true
		}
	}
	return slices.ContainsFunc(x.locals.open, func(l *LocalCall) bool { return l.future.delaysEnd() })
}

// delaysEnd reports whether the end waits for the operation: its handler is not abandoned at the end.
func (f *Future) delaysEnd() bool { return f.scope.run == nil || !f.scope.run.abandon }

// overflows reports whether the next execution could hardly take along more unread events.
func (x *Execution) overflows() bool {
	next := x.closing.record.Next
	return next != nil && (len(x.unread()) >= maxUnread || 2*len(next.Input)+x.boxes.bytes >= maxBurstBytes)
}

func (x *Execution) armTimer(micros int64) {
	c := x.closing
	c.timerID = x.events.emit(&history.TimerCreated{Due: x.now + micros, Duration: micros})
	c.timer = &Future{x: &x.core}
	x.pending.futures[c.timerID] = c.timer
}

// dropTimer stops the timer of the end, unless it has fired.
func (x *Execution) dropTimer() {
	c := x.closing
	if c.timer != nil && !c.timer.settled {
		x.events.emit(&history.TimerCancelled{Timer: c.timerID})
		delete(x.pending.futures, c.timerID)
	}
	c.timer = nil
}
