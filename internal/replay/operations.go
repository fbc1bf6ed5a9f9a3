package replay

import (
	"math/rand/v2" //nolint:depguard // seeded by the execution: the same on every replay
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Activity schedules an activity.
func (s *Scope) Activity(call *history.ActivityScheduled) *Future {
	x := s.x
	x.enter()
	if err := s.admit(len(call.Input), "input of activity "+call.Name); err != nil {
		return s.failed(err)
	}
	if x.activities >= maxPendingActivities {
		return s.failed(x.env.Errors.New(failure.ErrTooLarge,
			"activity %s: %d activities are pending already; wait for some before more are scheduled", call.Name, x.activities))
	}
	id := x.emit(call)
	f := s.newFuture()
	x.activities++
	f.then = func() { x.activities-- }
	f.cancelling(id, x.recorded(call).(*history.ActivityScheduled).Cancellation)
	x.pending[id] = f
	return f
}

// Timer starts a durable timer. One that is due already is settled at once and leaves no
// event.
func (s *Scope) Timer(d time.Duration) *Future {
	x := s.x
	x.enter()
	if err := s.admit(0, "timer"); err != nil {
		return s.failed(err)
	}
	if d <= 0 {
		return &Future{x: x, settled: true}
	}
	micros := int64(d / time.Microsecond)
	if d%time.Microsecond != 0 {
		micros++ // a timer never fires early
	}
	id := x.emit(&history.TimerCreated{Due: x.now + micros, Duration: micros})
	f := s.newFuture()
	f.abandon = func() {
		x.emit(&history.TimerCancelled{Timer: id})
		x.dropPending(id)
	}
	x.pending[id] = f
	return f
}

// Child starts a child instance. With an empty ID it gets one that is unique to this
// event of this execution.
func (s *Scope) Child(call *history.ChildStarted) *Future {
	x := s.x
	x.enter()
	if err := s.admit(len(call.Input), "input of child "+call.Name); err != nil {
		return s.failed(err)
	}
	call.Explicit = call.ID != ""
	if !call.Explicit {
		call.ID = x.info.keyText + "/" + strconv.FormatInt(x.info.Execution, 10) + "/" + strconv.FormatInt(x.length+1, 10)
	}
	if !x.Replaying() {
		call.Key = x.env.NewKey()
	}
	id := x.emit(call)
	key := x.recorded(call).(*history.ChildStarted).Key
	f := s.newFuture()
	f.child = key
	f.abandon = func() {
		x.emit(&history.ChildCancelRequested{Started: id, Key: key})
		x.dropPending(id)
	}
	x.pending[id] = f
	return f
}

// SideEffect runs fn once and records what it answers; on replay the record is answered.
func (s *Scope) SideEffect(fn func() ([]byte, *history.Failure)) ([]byte, error) {
	x := s.x
	x.enter()
	if err := s.returned(); err != nil {
		return nil, err
	}
	if err := s.admitEvent(0); err != nil {
		return nil, err
	}
	want := &history.SideEffectRecorded{}
	if !x.Replaying() {
		x.mustBeStored()
		want.Value, want.Failure = x.runEffect(fn)
		if err := s.admitValue(len(want.Value)); err != nil {
			want.Value, want.Failure = nil, new(x.env.Errors.Encode(err))
		}
	}
	x.emit(want)
	got := x.recorded(want).(*history.SideEffectRecorded)
	if got.Failure != nil {
		return nil, x.env.Errors.Decode(*got.Failure)
	}
	return got.Value, nil
}

// admitValue refuses the value of a side effect. That it did is recorded like the value.
func (s *Scope) admitValue(size int) error {
	if int64(size) > s.x.settings.MaxPayload || s.x.burst.full(size) {
		return s.x.tooLarge(size, "value of a side effect")
	}
	return s.admitLength(size)
}

// runEffect runs the function of a side effect. A panic of it fails the turn even if the
// code would recover it: nothing is recorded of it that a replay could find.
func (x *Execution) runEffect(fn func() ([]byte, *history.Failure)) (value []byte, f *history.Failure) {
	co := x.current.Load()
	x.effect = true
	defer func() {
		x.effect = false
		if p := recover(); p != nil {
			x.failPanic(p)
			co.park()
		}
	}()
	return fn()
}

// admit refuses an operation in a scope that is over, beyond the payload limit or in a full
// history. All three follow from the history and its frozen settings.
func (s *Scope) admit(size int, what string) error {
	if err := s.over(); err != nil {
		return err
	}
	if int64(size) > s.x.settings.MaxPayload {
		return s.x.tooLarge(size, what)
	}
	if len(s.x.pending)+len(s.x.locals) >= maxPending {
		return s.x.env.Errors.New(failure.ErrTooLarge, "%s: %d activities, timers and children are pending already; wait for some first", what, maxPending)
	}
	return s.admitEvent(size)
}

func (s *Scope) admitEvent(size int) error {
	x := s.x
	if x.burst.full(size) {
		return x.env.Errors.New(failure.ErrTooLarge, "the code has asked for %d things with %d bytes at once: wait for something in between",
			x.burst.events, x.burst.bytes)
	}
	return s.admitLength(size)
}

// AdmitPayload answers an error if size is beyond the execution's payload limit.
func (s *Scope) AdmitPayload(size int, what string) error {
	if int64(size) > s.x.settings.MaxPayload {
		return s.x.tooLarge(size, what)
	}
	return nil
}

func (x *Execution) tooLarge(size int, what string) error {
	return x.env.Errors.New(failure.ErrTooLarge, "%s has %d bytes, the limit is %d: store it elsewhere and pass a reference",
		what, size, x.settings.MaxPayload)
}

// Now is the time of the event last applied, microseconds UTC.
func (s *Scope) Now() int64 {
	s.x.look()
	return s.x.now
}

// Rand is a random source whose numbers depend only on the execution. It is for code of
// the execution, and no secret.
func (s *Scope) Rand() *rand.Rand {
	s.x.enter()
	if s.x.random == nil {
		s.x.random = rand.New(guardedSource{s.x, rand.NewChaCha8(s.x.info.seed())})
	}
	return s.x.random
}

// guardedSource lets only the running coroutine draw.
type guardedSource struct {
	x   *Execution
	src rand.Source
}

// Uint64 implements rand.Source.
func (g guardedSource) Uint64() uint64 {
	g.x.enter()
	return g.src.Uint64()
}

// Fail stops the turn for a mistake in the code that no retry of an operation can mend,
// such as a function that is not registered. It does not return; the turn is tried again later.
func (s *Scope) Fail(err error) {
	co := s.x.enter()
	s.x.fail(err)
	co.park()
}
