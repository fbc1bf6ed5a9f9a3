package replay

import (
	"time"

	"github.com/perdure/perdure/internal/failure"
)

// condition is what a coroutine waits for until code has changed its variables.
type condition struct{ co *coroutine }

// Await blocks the running coroutine until cond returns true. It returns the scope's error if that is cancelled first, and
// ErrTimeout if a durable timer of the length within has ended, where limited. The condition counts first: these errors are
// for conditions that are false.
//
// A cond that is false is looked at again when all code is blocked. It may read only: see scheduler.checkReader.
// Histories depend on when it is looked at, and in which order: another one needs a flag.
func (s *Scope) Await(cond func() bool, within time.Duration, limited bool) error {
	x := s.x
	co := x.sched.enter()
	x.yieldToFreshRuns(co)
	if x.sched.isTrue(cond) {
		return nil
	}
	if err := s.over(); err != nil {
		co.at = max(co.at, s.at)
		return err
	}
	var timer *Future
	if limited {
		timer = s.Timer(within)
	}
	if err := s.awaited(co, timer, within); err != nil {
		return err
	}
	c := &condition{co: co}
	x.sched.conditions = append(x.sched.conditions, c)
	co.futuresOnly = true
	x.sched.note(co)
	for {
		co.condition = c
		co.park()
		co.condition = nil
		if x.sched.isTrue(cond) {
			co.at = max(co.at, x.events.message)
			if timer != nil {
				timer.cancel(failure.ErrCancelled)
			}
			return nil
		}
		if err := s.awaited(co, timer, within); err != nil {
			return err
		}
	}
}

// awaited returns why the wait of a coroutine for a condition that is false ends, nil if it goes on.
func (s *Scope) awaited(co *coroutine, timer *Future, within time.Duration) error {
	if err := s.over(); err != nil {
		co.at = max(co.at, s.at)
		return err
	}
	if timer == nil || !timer.settled {
		return nil
	}
	co.at = max(co.at, timer.at)
	if timer.err != nil {
		return timer.err
	}
	return s.x.env.Errors.New(failure.ErrTimeout, "the condition was not true within %v", within)
}
