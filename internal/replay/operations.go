package replay

import (
	"math/rand/v2" //nolint:depguard // seeded by the execution: the same on every replay
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Activity schedules an activity.
func (s *Scope) Activity(call *history.ActivityScheduled) *Future {
	x := s.x
	x.sched.enter()
	if err := s.admit(len(call.Input), "input of activity "+call.Name); err != nil {
		return s.failed(err)
	}
	if x.pending.activities >= maxPendingActivities {
		return s.failed(x.env.Errors.New(failure.ErrTooLarge,
			"activity %s: %d activities are pending already; wait for some before more are scheduled", call.Name, x.pending.activities))
	}
	id := x.events.emit(call)
	f := s.newFuture()
	x.pending.addActivity(id, f, call.Name)
	f.cancelling(id, x.events.recorded(call).(*history.ActivityScheduled).Cancellation)
	return f
}

// Timer starts a durable timer. One that is due already is settled at once and leaves no event.
func (s *Scope) Timer(d time.Duration) *Future {
	x := s.x
	x.sched.enter()
	if err := s.admit(0, "timer"); err != nil {
		return s.failed(err)
	}
	if d <= 0 {
		return &Future{x: x, settled: true}
	}
	micros := timerMicros(d)
	id := x.events.emit(&history.TimerCreated{Due: x.now + micros, Duration: micros})
	f := s.newFuture()
	f.abandon = func() {
		x.events.emit(&history.TimerCancelled{Timer: id})
		delete(x.pending.futures, id)
	}
	x.pending.futures[id] = f
	return f
}

// timerMicros returns the duration of a timer, which never fires early.
func timerMicros(d time.Duration) int64 {
	micros := int64(d / time.Microsecond)
	if d%time.Microsecond != 0 {
		micros++
	}
	return micros
}

// WithTimeout makes a child scope that a durable timer cancels with ErrTimeout.
func (s *Scope) WithTimeout(d time.Duration) (child *Scope, cancel func()) {
	child, cancel = s.WithCancel()
	if child.err != nil {
		return child, cancel
	}
	timer := child.Timer(d)
	expire := func() {
		if timer.err == nil {
			child.cancel(s.x.env.Errors.New(failure.ErrTimeout, "scope timed out after %v", d))
		}
	}
	switch {
	case !timer.settled:
		timer.then = expire
	case timer.err != nil:
		child.cancel(timer.err) // the scope must not continue without its timer
	default:
		expire()
	}
	return child, cancel
}

// SideEffect runs fn once and records its result. On replay it returns the record.
func (s *Scope) SideEffect(fn func() ([]byte, *history.Failure)) ([]byte, error) {
	x := s.x
	x.sched.enter()
	if err := s.returned(); err != nil {
		return nil, err
	}
	if err := s.admitEvent(0); err != nil {
		return nil, err
	}
	want := &history.SideEffectRecorded{}
	if !x.events.replaying.Load() {
		if x.log.held.Load() != nil {
			x.sched.abort(errSpeculative)
		}
		x.sched.effect(func() { want.Value, want.Failure = fn() })
		if err := s.admitValue(len(want.Value)); err != nil {
			want.Value, want.Failure = nil, new(x.env.Errors.Encode(err))
		}
	}
	x.events.emit(want)
	got := x.events.recorded(want).(*history.SideEffectRecorded)
	if got.Failure != nil {
		return nil, x.env.Errors.Decode(*got.Failure)
	}
	return got.Value, nil
}

// Now returns the time of the event last applied, microseconds UTC.
func (s *Scope) Now() int64 {
	s.x.sched.checkReader()
	return s.x.now
}

// Rand returns a source of random numbers that depend only on the execution. Only its code may use it. The numbers are
// no secret.
func (s *Scope) Rand() *rand.Rand {
	s.x.sched.enter()
	if s.x.random == nil {
		r := &random{sched: &s.x.sched}
		r.reseed(s.x.seed())
		r.numbers = rand.New(r)
		s.x.random = r
	}
	return s.x.random.numbers
}

// Fail stops the turn because of a mistake that no retry of an operation can fix, such as a function that is not
// registered. It does not return; the turn is retried later.
func (s *Scope) Fail(err error) {
	s.x.sched.enter()
	s.x.sched.abort(err)
}
