package orchestration

import (
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
)

// Await blocks until cond returns true: until other coroutines or handlers of the code have changed the variables that it
// reads. It leaves no event. [Within] bounds the wait by a durable timer, which makes events of its own. A cond that is
// true at the call ends it at once.
//
//	err := ctx.Await(func() bool { return approvals >= 2 }, orchestration.Within(24*time.Hour))
//
// A cond that was false is called again when all code of the instance is blocked, after each turn in which the instance was
// given something. A value in between is not seen. Time alone calls no condition: one that compares Now needs Within, or a
// timer elsewhere in the code. The longest wait looks first. If its cond is true, its code goes on, and so does all that it
// wakes, before the next one looks. So if two wait until nobody is busy, the second sees that the first is.
//
// Await returns ErrTimeout after the time of Within, and ctx's error if the scope is cancelled. Both are only for a cond
// that is false when it is looked at: one that has become true in the same turn counts first, unless only what another Await
// lets go on after that look makes it true. A [Select] between a timer and a coroutine that calls Await lets the timer count
// first.
//
// cond must be quick. A turn calls it once for each wait, and again when another wait has ended. It only reads: it must not
// change a variable. It may call Now, Info, Err and Logger of the Context and Ready of a Future. Any other call of the
// engine fails the turn. So does a panic that the code does not recover.
//
// If no activity, timer, child, event or handler can make cond true, the turn fails as for coroutines that wait for each
// other. The query "stack" shows the line that waits. The error is ErrInvalid for an option that is nil.
func (c *Context) Await(cond func() bool, opts ...ReceiveOption) error {
	mustFunc(cond == nil, "Await")
	scope := c.engine()
	var o receiveOptions
	if err := bind.Apply(opts, func(opt ReceiveOption) error { return opt.applyReceive(&o) }); err != nil {
		return newError(failure.ErrInvalid, "awaiting a condition: %v", err)
	}
	if o.waiting != "" {
		defer scope.Waiting(o.waiting)()
	}
	return scope.Await(cond, o.within, o.limited)
}
