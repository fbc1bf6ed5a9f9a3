package replay

import "fmt"

// DeadlockError says that the coroutines of an execution wait for each other.
type DeadlockError struct {
	Coroutines int // that wait
}

// Error implements error.
func (e *DeadlockError) Error() string {
	return fmt.Sprintf("the code can never continue: its coroutines (%d) wait for coroutines, promises, conditions and locks only, and no activity, "+
		"timer, child or event can wake one: look for coroutines that wait for each other, run mended code, or cancel the instance", e.Coroutines)
}

// checkDeadlock fails a live turn after which only a cancellation could wake the code. Nothing of the turn is stored, so
// mended code makes it again. A coroutine that waits for nothing but its cancellation is none of these.
func (x *Execution) checkDeadlock() {
	switch {
	case x.settings.Flags&flagHandlers == 0, x.events.replaying.Load(), x.sched.fault != nil, x.end != nil, x.closing != nil:
		return
	case len(x.pending.futures)+len(x.locals.open) > 0, x.job.listens:
		return
	}
	for _, co := range x.sched.coroutines {
		if !co.futuresOnly {
			return
		}
	}
	if n := len(x.sched.coroutines); n > 0 {
		x.sched.fail(&DeadlockError{Coroutines: n})
	}
}
