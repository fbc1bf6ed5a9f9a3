package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/internal/check"
)

// Patched reports whether the code takes the new side of a change. Put the new code where it is true, and the code of
// before where it is false:
//
//	if ctx.Patched("two-step-charge") {
//		err = chargeInTwoSteps(ctx)
//	} else {
//		err = charge(ctx)
//	}
//
// An execution that comes to the call for the first time takes the new side, and its history gets a marker. One that
// passed this place before the change takes the old side. The first answer for an ID holds for the rest of the execution.
// Continue-as-new begins afresh. If the history has no room for the marker, the answer is false.
//
// A node with the code of before notices that it must not run an execution with the marker if the new side makes calls of
// another kind or name. Inputs are never compared, nor are variables.
//
// The ID is 1 to 512 bytes of UTF-8. An invalid ID fails the turn. Name the change, and use no ID for two changes. Calls
// may swap places and come from any coroutine, but not from the function of a side effect.
func (c *Context) Patched(id string) bool {
	scope := c.engine()
	if err := check.Name("patch ID", id); err != nil {
		scope.Fail(fmt.Errorf("asking for patch %s: %w", check.Quote(id), err))
	}
	return scope.Patched(id)
}

// DeprecatePatch takes the place of Patched when no running instance needs the old side any more and that code is gone.
// New executions still get the marker, so a node with the release of before takes the new side, too. Remove the call when
// that release is gone. The ID is that of Patched. An invalid ID fails the turn.
func (c *Context) DeprecatePatch(id string) {
	scope := c.engine()
	if err := check.Name("patch ID", id); err != nil {
		scope.Fail(fmt.Errorf("deprecating patch %s: %w", check.Quote(id), err))
	}
	scope.DeprecatePatch(id)
}
