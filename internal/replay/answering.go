package replay

import (
	"runtime"
	"sync/atomic"
)

// answering is a query whose handler runs. Its calls only read; any other ends it.
type answering struct {
	goroutine ownGoroutine
	refused   atomic.Pointer[string] // the place of a call that is not allowed
}

// refuse ends the goroutine of a call while a handler of a query runs, which is to blame. It sets no violation: the
// query must not hurt the next turn.
func (s *scheduler) refuse() {
	if a := s.answering.Load(); a != nil {
		a.refused.CompareAndSwap(nil, new(callerOutside()))
		runtime.Goexit()
	}
}
