package replay

import (
	"slices"

	"github.com/perdure/perdure/internal/platform/goroutine"
)

// Close unwinds all parked code; deferred functions run. Afterwards calls from its
// coroutines end their goroutines. It blocks for as long as deferred functions of user
// code do, and may be called once, by the goroutine that used the execution last.
func (x *Execution) Close() {
	if x.unwound.Swap(true) {
		return
	}
	x.closed.Store(true)
	for _, co := range x.coroutines {
		if co.done {
			continue
		}
		x.unwinding.Store(co)
		unwound := make(chan struct{})
		go func() {
			defer close(unwound)
			co.unwind()
		}()
		<-unwound
	}
	x.unwinding.Store(nil)
}

// Parked tells whether there is code to unwind.
func (x *Execution) Parked() bool {
	return slices.ContainsFunc(x.coroutines, func(co *coroutine) bool { return !co.done })
}

// Abandon gives up an execution whose code is stuck in a resume: its goroutine ends at
// its next call into the engine. It may be called while code runs.
func (x *Execution) Abandon() { x.closed.Store(true) }

// Progress grows with every resume and every call of code into the engine. A value that
// stays the same while a turn is in progress means that user code does not come back.
func (x *Execution) Progress() int64 { return x.progress.Load() }

// Effects grows with every message that is applied, every command and every event that code takes from a
// mailbox. For one message their number is bounded. A value that stays the same while Progress grows means
// that code calls the engine without ever waiting for anything.
func (x *Execution) Effects() int64 { return x.effects.Load() }

// InCode tells whether a coroutine is running now.
func (x *Execution) InCode() bool { return x.current.Load() != nil }

// Goroutine answers the number of the goroutine whose user code is running now, or is being
// unwound; 0 if there is none.
func (x *Execution) Goroutine() uint64 {
	for _, co := range []*coroutine{x.current.Load(), x.unwinding.Load()} {
		if co != nil {
			return co.home.id.Load()
		}
	}
	return 0
}

// StuckStack answers the stack of the coroutine that is running now, "" if none is. It
// stops the world for a moment.
func (x *Execution) StuckStack() string {
	co := x.current.Load()
	if co == nil {
		return ""
	}
	id := co.home.id.Load()
	return goroutine.Stacks(id)[id]
}
