package orchestration

import "github.com/perdure/perdure/internal/bind"

// ContinueOption is an option of ContinueAsNew. KeepVersion makes one.
type ContinueOption interface {
	applyContinue(next *bind.Next) error
}

type continueFunc func(next *bind.Next)

func (f continueFunc) applyContinue(next *bind.Next) error {
	f(next)
	return nil
}

// KeepVersion makes the next execution run the version of this one, also where a newer one is registered.
func KeepVersion() ContinueOption {
	return continueFunc(func(next *bind.Next) { next.KeepVersion = true })
}

// ContinueAsNew returns an error for the orchestration's function to return: this execution ends and the next one begins with
// the input and an empty history. Events that were received and not read, the parent and the instance's identity carry over.
// Open activities, timers and children are cancelled. The status, key-values and attributes that code has set stay as they are
// until it sets them again.
//
//	return Out{}, orchestration.ContinueAsNew(ctx, in)
//
// The next execution runs the newest version of the code, by the order of [Version], that the node has registered, and never an older one
// than this execution. So its input must be one that newer versions can decode. The second and later executions
// keep their version if they continue before they were given anything new. [KeepVersion] always does.
func ContinueAsNew[In any](ctx *Context, in In, opts ...ContinueOption) error {
	scope := ctx.engine()
	data, err := encodeInput("orchestration", scope.Info().Name, in)
	next := bind.Next{Input: data}
	if err == nil {
		err = bind.Apply(opts, func(o ContinueOption) error { return o.applyContinue(&next) })
		if err != nil {
			err = refused("continuing", scope.Info().Name, err)
		}
	}
	if err == nil {
		err = scope.AdmitSuccessor(len(data))
	}
	if err != nil {
		return err
	}
	return bind.Continue(next)
}
