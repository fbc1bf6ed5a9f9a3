package activity

import "context"

// OnInterrupt registers fn to be called when the activity does not return though its context has ended: to close the connection
// or to kill the child process that it waits for. The first call, with attempt 1, comes a second after the end of the context,
// further ones after pauses that double up to a minute, for an hour; see runtime.LeakOptions. An activity that obeys its
// context is never interrupted. For actions at the end of the context use context.AfterFunc.
//
// Each call has a goroutine of its own, and may run while the activity returns. A function that has not returned is not called
// again. A panic of fn is logged.
//
// stop unregisters fn. It does not wait for a call that is running.
func OnInterrupt(ctx context.Context, fn func(attempt int)) (stop func()) {
	a := attempt(ctx)
	if fn == nil {
		panic("activity: OnInterrupt was given a nil function: give one that makes the activity come back")
	}
	return a.OnInterrupt(fn)
}
