package activity

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// hooks are what OnInterrupt was given in one attempt.
type hooks struct {
	mu  sync.Mutex
	all []*hook
}

type hook struct {
	fn   func(attempt int)
	busy atomic.Bool // the last call has not returned
}

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
	h := &hook{fn: fn}
	a.hooks.mu.Lock()
	a.hooks.all = append(a.hooks.all, h)
	a.hooks.mu.Unlock()
	return func() {
		a.hooks.mu.Lock()
		defer a.hooks.mu.Unlock()
		if i := slices.Index(a.hooks.all, h); i >= 0 {
			a.hooks.all = slices.Delete(a.hooks.all, i, i+1)
		}
	}
}

// Interrupt has the functions called that OnInterrupt was given, but not those that have not
// returned from their last call. start begins a call on a goroutine of its own. It is for package dispatcher,
// and for tests of activity code.
func (a *Attempt) Interrupt(attempt int, start func(call func())) {
	a.hooks.mu.Lock()
	all := slices.Clone(a.hooks.all)
	a.hooks.mu.Unlock()
	for _, h := range all {
		if h.busy.CompareAndSwap(false, true) {
			start(func() {
				defer h.busy.Store(false)
				h.fn(attempt)
			})
		}
	}
}
