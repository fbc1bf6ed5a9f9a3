package replay

import (
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/perdure/perdure/internal/platform/goroutine"
)

// coroutine is one thread of an execution's code. Between resumes it is parked in the switch of iter.Pull, which costs
// about 100 ns and needs no running goroutine.
type coroutine struct {
	sched   *scheduler
	next    func() (struct{}, bool)
	discard func()
	yield   func(struct{}) bool
	home    home
	started bool
	done    bool
	queued  bool // in the ready queue
	waits   []*wait
	index   int // in scheduler.coroutines
}

func newCoroutine(s *scheduler, body func()) *coroutine {
	co := &coroutine{sched: s}
	co.next, co.discard = iter.Pull(func(yield func(struct{}) bool) {
		co.started, co.yield = true, yield
		co.home.settle()
		s.progress.Add(1)
		returned := false
		defer func() { co.finish(returned, recover()) }()
		body()
		returned = true
	})
	return co
}

// finish notes how the body ended. A panic or Goexit of user code is a fault of the turn, never a crash of the process.
func (co *coroutine) finish(returned bool, panicked any) {
	co.done = true
	s := co.sched
	switch {
	case returned || s.closed.Load():
	case panicked != nil:
		s.failPanic(panicked)
	default:
		s.fail(errGoexit)
	}
	s.forget(co)
}

// maxPanic bounds the text of a panic's value, which the stack follows.
const maxPanic = 16 << 10

func short(panicked any) string {
	text := fmt.Sprint(panicked)
	if len(text) > maxPanic {
		text = fmt.Sprintf("%s... (%d bytes)", text[:maxPanic], len(text))
	}
	return text
}

// park gives control back to the scheduler until something wakes the coroutine.
func (co *coroutine) park() {
	s := co.sched
	s.current.Store(nil)
	co.yield(struct{}{})
	if s.closed.Load() {
		runtime.Goexit()
	}
}

// unwind ends a parked coroutine by Goexit, which runs its deferred functions and also ends the calling goroutine.
func (co *coroutine) unwind() {
	if !co.started {
		co.discard()
		return
	}
	co.next()
}

// home is the goroutine of a coroutine, by its number.
type home struct{ id atomic.Uint64 }

// settle makes the calling goroutine the home.
func (h *home) settle() { h.id.Store(goroutine.ID()) }

// here reports whether the caller is at home. It is cheap enough for every call from code.
func (h *home) here() bool { return goroutine.ID() == h.id.Load() }
