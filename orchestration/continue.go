package orchestration

import "github.com/perdure/perdure/internal/bind"

// ContinueAsNew returns an error for the orchestration's function to return: this execution ends and the next one begins with
// the input and an empty history. Events that were received and not read, the parent and the instance's identity carry over.
// Open activities, timers and children are cancelled. The status, key-values and attributes that code has set stay as they are
// until it sets them again.
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
	return bind.Continue(data)
}
