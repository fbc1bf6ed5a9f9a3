package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
)

// engine returns the scope that the Context stands for. A Context that the engine did not make is a mistake of the code
// that no error could mend. It panics, so that the instance shows as Blocked and continues when the code is fixed.
func (c *Context) engine() *replay.Scope {
	if c != nil {
		if scope := bind.ScopeOf(&c.handle); scope != nil {
			return scope
		}
	}
	panic("orchestration: the Context is nil or zero: use the one that the orchestration was given")
}

// made refuses a zero Future.
func (f Future[T]) made() *replay.Future {
	if f.f == nil {
		panic("orchestration: the Future is zero: take one from StartActivity, StartTimer, Go and the like")
	}
	return f.f
}

// made refuses a zero Mailbox.
func (m Mailbox[T]) made() *replay.Mailbox {
	if m.box == nil {
		panic("orchestration: the Mailbox is zero: take one from Events")
	}
	return m.box
}

// mustFunc panics for a nil function, before something else calls it.
func mustFunc(isNil bool, what string) {
	if isNil {
		panic("orchestration: the function given to " + what + " is nil: give one")
	}
}

// refused is the error of a call with an invalid option or name.
func refused(doing, name string, err error) error {
	return newError(failure.ErrInvalid, "%s %s: %v", doing, check.Quote(name), err)
}

// mayReach refuses names and IDs that belong to perdure itself. Its own orchestrations may use them.
func mayReach(scope *replay.Scope, name, id string) error {
	switch {
	case reserved.Name(scope.Info().Name):
		return nil
	case reserved.Name(name):
		return fmt.Errorf("names that begin with %s belong to perdure itself: give that of an orchestration of yours", reserved.NamePrefix)
	case reserved.ID(id):
		return fmt.Errorf("IDs that begin with %s belong to perdure itself: give that of an instance of yours", reserved.IDPrefix)
	}
	return nil
}
