package orchestration

import (
	"errors"

	"github.com/perdure/perdure/internal/history"
)

// continueError asks for the next execution. It is no failure, but travels as one, so
// that code returns it from any depth.
type continueError struct {
	input []byte
}

func (*continueError) Error() string { return "continue as new" }

// ContinueAsNew answers an error for the orchestration's function to return: this
// execution ends and the next one begins with the input and an empty history. Events
// that were received and not read, the parent and the instance's identity go along;
// activities and timers that are still open are given up, and children are cancelled.
//
//	return Out{}, orchestration.ContinueAsNew(ctx, in)
func ContinueAsNew[In any](ctx *Context, in In) error {
	scope := ctx.engine()
	data, err := encodeInput("orchestration", scope.Info().Name, in)
	if err == nil {
		err = scope.AdmitSuccessor(len(data))
	}
	if err != nil {
		return err
	}
	return &continueError{input: data}
}

// continued finds the request for the next execution in what code returned. An error
// whose methods panic, such as a typed nil, holds none.
func continued(err error) (next *continueError) {
	defer func() {
		if recover() != nil {
			next = nil
		}
	}()
	next, _ = errors.AsType[*continueError](err)
	return next
}

func (e *continueError) event() *history.ContinuedAsNew {
	return &history.ContinuedAsNew{Input: e.input}
}
