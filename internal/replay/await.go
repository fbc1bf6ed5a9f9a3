package replay

import (
	"slices"
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
	if x.sched.holds(cond) {
		return nil
	}
	if err := s.over(); err != nil {
		return err
	}
	var timer *Future
	if limited {
		timer = s.Timer(within)
	}
	if err := s.awaited(timer, within); err != nil {
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
		if x.sched.holds(cond) {
			if timer != nil {
				timer.cancel(failure.ErrCancelled)
			}
			return nil
		}
		if err := s.awaited(timer, within); err != nil {
			return err
		}
	}
}

// awaited returns why a wait for a condition that is false ends, nil if it goes on.
func (s *Scope) awaited(timer *Future, within time.Duration) error {
	switch err := s.over(); {
	case err != nil:
		return err
	case timer == nil || !timer.settled:
		return nil
	case timer.err != nil:
		return timer.err
	}
	return s.x.env.Errors.New(failure.ErrTimeout, "the condition was not true within %v", within)
}

// holds calls a condition.
func (s *scheduler) holds(cond func() bool) bool {
	s.reading = true
	defer func() { s.reading = false }()
	met := cond()
	s.running() // the execution may have been abandoned meanwhile
	return met
}

// judge lets coroutines look at the conditions that they wait for, when none is ready: the longest wait first, each on its own
// coroutine. One whose wait ends goes on at once, and so does all that it wakes, before the next one looks. The rounds go
// on until each condition was false since code ran last.
func (s *scheduler) judge() {
	for at, no := 0, 0; no < len(s.conditions) && s.fault == nil && !s.ended; {
		at %= len(s.conditions)
		c := s.conditions[at]
		if !c.co.over {
			s.resume(c.co)
		}
		if c.co.condition == c && !c.co.over {
			at, no = at+1, no+1
			continue
		}
		// Code may have added conditions behind it. It cannot have removed one.
		s.conditions = slices.Delete(s.conditions, at, at+1)
		if s.runReady(); !c.co.over {
			no = 0
		}
	}
}
