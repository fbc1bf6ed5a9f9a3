package orchestration

import (
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/replay"
)

// Mutex lets one coroutine of an execution at a time go on between Lock and Unlock, also where it waits. Between two waits code needs none,
// as coroutines never run at the same time. The zero Mutex is unlocked. A Mutex belongs to one execution: make it in the function of the
// orchestration. It leaves no event, and must not be copied after its first use.
type Mutex struct{ lock replay.Semaphore }

// Lock waits for the Mutex. Those that wait get it in the order in which they came. With an error it is not locked: it is that of ctx, if
// that scope has ended, or ErrInvalid if a coroutine has ended that had it locked. A coroutine that has the Mutex and locks it again waits
// for itself.
//
//	if err := mu.Lock(ctx); err != nil {
//		return err
//	}
//	defer mu.Unlock()
func (m *Mutex) Lock(ctx *Context) error { return m.lock.Acquire(ctx.engine(), 1, 1) }

// Unlock gives the Mutex to the first one that waits and whose scope has not ended. Any coroutine may call it, but the one that has locked it
// must still run. It panics if the Mutex is not locked.
func (m *Mutex) Unlock() {
	if !m.lock.Release(1) {
		panic("orchestration: Unlock of a Mutex that is not locked")
	}
}

// Semaphore bounds how many units the coroutines of an execution hold at a time. A Semaphore belongs to one execution: make it in the
// function of the orchestration with [NewSemaphore]. It leaves no event.
type Semaphore struct {
	lock replay.Semaphore
	size int
}

// NewSemaphore makes a semaphore of n units, all free. It panics if n is not positive.
func NewSemaphore(n int) *Semaphore {
	if n < 1 {
		panic("orchestration: a Semaphore of no unit: give 1 or more")
	}
	return &Semaphore{size: n}
}

// Acquire waits for n units, 1 to the size of the semaphore. Those that wait get theirs in the order in which they came, so one that wants
// many is not passed by those that want few. With an error the coroutine has got none: it is that of ctx, if that scope has ended, or
// ErrInvalid if a coroutine has ended that held units, or if n is not allowed.
func (s *Semaphore) Acquire(ctx *Context, n int) error {
	s.made()
	scope := ctx.engine()
	if n < 1 || n > s.size {
		return newError(failure.ErrInvalid, "acquiring %d units of a semaphore of %d: give 1 to %d", n, s.size, s.size)
	}
	return s.lock.Acquire(scope, int64(s.size), int64(n))
}

// Release gives back n units: first those of the coroutine that calls it, then those that are held longest, whose coroutine must still run.
// It panics if n is negative or so many are not held.
func (s *Semaphore) Release(n int) {
	s.made()
	if n < 0 || n > 0 && !s.lock.Release(int64(n)) {
		panic("orchestration: Release of more units of a Semaphore than are held")
	}
}

// made refuses a Semaphore that NewSemaphore did not make.
func (s *Semaphore) made() {
	if s == nil || s.size == 0 {
		panic("orchestration: the Semaphore is nil or zero: take one from NewSemaphore")
	}
}
