package replay

import (
	"bytes"
	"runtime"
	"strconv"
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
		unwound := make(chan struct{})
		go func() {
			defer close(unwound)
			co.unwind()
		}()
		<-unwound
	}
}

// Abandon gives up an execution whose code is stuck in a resume: its goroutine ends at
// its next call into the engine. It may be called while code runs.
func (x *Execution) Abandon() { x.closed.Store(true) }

// Progress grows with every resume and every call of code into the engine. A value that
// stays the same while a turn is in progress means that user code does not come back.
func (x *Execution) Progress() int64 { return x.progress.Load() }

// InCode tells whether a coroutine is running now.
func (x *Execution) InCode() bool { return x.current.Load() != nil }

// StuckStack answers the stack of the coroutine that is running now, "" if none is. It
// stops the world for a moment.
func (x *Execution) StuckStack() string {
	co := x.current.Load()
	if co == nil {
		return ""
	}
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	header := []byte("goroutine " + strconv.FormatUint(co.home.id.Load(), 10) + " ")
	for stack := range bytes.SplitSeq(buf, []byte("\n\n")) {
		if bytes.HasPrefix(stack, header) {
			return string(stack)
		}
	}
	return ""
}
