package replay

import (
	"fmt"
	"runtime/debug"

	"github.com/perdure/perdure/internal/history"
)

// UpdatePanicError says that the validator or the handler of an update panicked before anything of it was stored. The
// turn must be made again, with the update in PanickedUpdates.
type UpdatePanicError struct {
	ID    string // of the update
	Name  string
	Value string
	Stack string
}

// Error implements error.
func (e *UpdatePanicError) Error() string {
	return fmt.Sprintf("update %q %q panicked: %s\n%s", e.Name, e.ID, e.Value, e.Stack)
}

// check decodes and validates an input, on a goroutine of its own: user code may call Goexit. It returns why the input
// is refused, nil if it is not. A validator that does more than read may have left the variables of the code half
// changed, so the turn is thrown away.
func (x *core) check(h *updateHandler, b *history.UpdateReceived) (why *history.Failure) {
	a := &answering{}
	var panicked any
	var stack []byte
	returned := false
	x.sched.within(func() {
		x.sched.answering.Store(a)
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if panicked = recover(); panicked != nil {
					stack = debug.Stack()
				}
			}()
			a.goroutine.setCurrent()
			if err := h.Check(b.Name, b.Input); err != nil {
				why = new(x.env.Errors.Encode(err))
			}
			returned = true
		}()
		<-done
		x.sched.answering.Store(nil)
	})
	spoiled := &UpdatePanicError{ID: b.ID, Name: b.Name, Stack: string(stack)}
	switch at := a.refused.Load(); {
	case at != nil:
		spoiled.Value = "its validator may only read variables of the code, and call Now, Info, Err and Logger of the Context; it did more at " + *at
	case panicked != nil:
		spoiled.Value = short(panicked)
	case !returned:
		spoiled.Value = "its validator called runtime.Goexit"
	default:
		return why
	}
	x.sched.abort(spoiled)
	return nil
}
