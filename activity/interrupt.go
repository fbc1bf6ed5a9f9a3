package activity

import "context"

// OnInterrupt has fn called when the activity does not come back though its context has
// ended: to close the connection or to kill the child process that it waits for. The first
// call, with attempt 1, comes a second after the end of the context, further ones after pauses
// that double up to a minute, for an hour; runtime.Options has the figures. An activity that
// obeys its context is never interrupted; what should happen at once is for
// context.AfterFunc.
//
// Each call has a goroutine of its own, and may run while the activity comes back after all. A
// function that has not returned is not called again. If it panics, that is logged.
//
// stop takes fn back. It does not wait for a call that is running.
func OnInterrupt(ctx context.Context, fn func(attempt int)) (stop func()) {
	a := attempt(ctx)
	if fn == nil {
		panic("activity: OnInterrupt was given a nil function: give one that makes the activity come back")
	}
	return a.OnInterrupt(fn)
}
