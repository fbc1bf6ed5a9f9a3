package replay

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
)

// coroutine is one thread of an execution's code. It is parked inside iter.Pull's switch
// between resumes, which costs about 100 ns and needs no running goroutine.
type coroutine struct {
	x       *Execution
	next    func() (struct{}, bool)
	discard func()
	yield   func(struct{}) bool
	home    home
	started bool
	done    bool
	queued  bool // in the ready queue
	waits   []*wait
	index   int // in x.coroutines
}

// spawn makes a coroutine that will run body and puts it into the ready queue.
func (x *Execution) spawn(body func()) {
	co := &coroutine{x: x}
	co.next, co.discard = iter.Pull(func(yield func(struct{}) bool) {
		co.started, co.yield = true, yield
		co.home.settle()
		x.progress.Add(1)
		returned := false
		defer func() { co.finish(returned, recover()) }()
		body()
		returned = true
	})
	co.index = len(x.coroutines)
	x.coroutines = append(x.coroutines, co)
	x.enqueue(co)
}

// finish notes how the body ended. A panic or Goexit of user code is a fault of the turn,
// never a crash of the process.
func (co *coroutine) finish(returned bool, panicked any) {
	co.done = true
	x := co.x
	switch {
	case returned || x.closed.Load():
	case panicked != nil:
		x.failPanic(panicked)
	default:
		x.fail(errGoexit)
	}
	x.forget(co)
}

// failPanic is called while the panic's stack is still there.
func (x *Execution) failPanic(panicked any) {
	x.fail(&PanicError{Value: short(panicked), Stack: string(debug.Stack())})
}

// maxPanic bounds what is kept of a panic's value: the stack is told after it.
const maxPanic = 16 << 10

func short(panicked any) string {
	text := fmt.Sprint(panicked)
	if len(text) > maxPanic {
		text = fmt.Sprintf("%s... (%d bytes)", text[:maxPanic], len(text))
	}
	return text
}

// forget drops a finished coroutine from the list of live ones.
func (x *Execution) forget(co *coroutine) {
	if x.closed.Load() {
		return
	}
	last := len(x.coroutines) - 1
	x.coroutines[co.index] = x.coroutines[last]
	x.coroutines[co.index].index = co.index
	x.coroutines[last] = nil
	x.coroutines = x.coroutines[:last]
}

// park gives control back to the scheduler until something wakes the coroutine.
func (co *coroutine) park() {
	x := co.x
	x.current.Store(nil)
	co.yield(struct{}{})
	if x.closed.Load() {
		runtime.Goexit()
	}
}

// unwind ends a parked coroutine by Goexit, which runs its deferred functions and also
// ends the calling goroutine.
func (co *coroutine) unwind() {
	if !co.started {
		co.discard()
		return
	}
	co.next()
}

// enqueue makes a coroutine ready, once.
func (x *Execution) enqueue(co *coroutine) {
	if co.queued || co.done {
		return
	}
	co.queued = true
	x.ready = append(x.ready, co)
}

// run resumes ready coroutines in order until all are blocked, the execution has ended
// or a fault stops it.
func (x *Execution) run() {
	for len(x.ready) > 0 && x.fault == nil && x.end == nil {
		co := x.ready[0]
		x.ready = x.ready[1:]
		co.queued = false
		x.progress.Add(1)
		x.current.Store(co)
		co.next()
		x.current.Store(nil)
	}
	if len(x.ready) == 0 {
		x.ready = nil
	}
	if v := x.violation.Load(); v != nil && x.fault == nil {
		x.fail(v)
	}
}

// enter is called first by everything that code can call and that leaves a trace. It
// answers the running coroutine.
func (x *Execution) enter() *coroutine {
	co := x.look()
	if x.effect {
		x.fail(fmt.Errorf("the function of a side effect uses the engine at %s: it is not run on replay, so call the engine outside of it",
			callerOutside()))
		co.park()
	}
	return co
}

// look is called first by what only reads. It answers the running
// coroutine. A call from a closed execution or from a goroutine that is not the running
// coroutine never returns: it must not touch what others use, and a panic there could
// kill the process.
func (x *Execution) look() *coroutine {
	if x.closed.Load() {
		runtime.Goexit()
	}
	co := x.current.Load()
	if co == nil {
		x.violate("while no code of it was running")
	}
	if !co.home.here() {
		x.violate("beside its running code")
	}
	x.progress.Add(1)
	return co
}

func (x *Execution) violate(when string) {
	x.violation.CompareAndSwap(nil, &ForeignCallError{When: when, Source: callerOutside()})
	runtime.Goexit()
}
