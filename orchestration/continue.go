package orchestration

import (
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/replay"
)

// ContinueOption is an option of ContinueAsNew and ContinueAsNewAfterHandlers. KeepVersion makes one.
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
//
// The input is made at the call. If the code has handlers, use [ContinueAsNewAfterHandlers]: the next execution lacks what a handler changes
// after the call, also before the function returns. The caller of such an update gets its output together with client.ErrNotCarried. Such
// a handler is logged, and counted in Stats.HandlersLate. So return the error: code that makes one and goes on tells callers of changes that
// are lost, although they are not. The next execution gets the updates of a [Serial] handler that wait for their turn when the function
// returns, and validates them again. In an execution that a release before level 12 has begun, and if they have more than 4 MiB, they have
// their turn before it ends.
//
// Only the function continues as new. In a handler the call returns ErrInvalid.
func ContinueAsNew[In any](ctx *Context, in In, opts ...ContinueOption) error {
	scope := ctx.engine()
	next := bind.Next{}
	err := scope.RefuseInHandler()
	if err == nil {
		next.Input, err = encodeInput(scope, "orchestration", scope.Info().Name, in)
	}
	if err == nil {
		err = applyContinue(scope, &next, opts)
	}
	if err == nil {
		err = scope.AdmitSuccessor(len(next.Input))
	}
	if err != nil {
		return err
	}
	scope.TookInput()
	return bind.Continue(next)
}

// ContinueAsNewAfterHandlers is ContinueAsNew for code with handlers of events or updates. It lets those that are running finish, and then
// calls input, which returns the input of the next execution. So the next execution has all that they have changed.
//
//	return Out{}, orchestration.ContinueAsNewAfterHandlers(ctx, func() In { return state })
//
// From the call on no handler begins. The next execution gets the events and updates that come, and the updates of a [Serial] handler that
// wait for their turn. It validates those again. After the time of [Context.SetHandlerGrace] the handlers are cancelled. A minute later the
// execution continues without them, as it does without those of [AbandonAtEnd]. Their callers get client.ErrAbandoned.
//
// The call ends with the error of ctx if that is cancelled first. It fails with ErrPayload or ErrTooLarge if the next execution cannot have the
// input, or the events that wait. Handlers begin again after an error. Otherwise return the result soon: handlers rest until the
// function returns.
//
// Other coroutines of the function go on during the call. In a handler it returns ErrInvalid.
func ContinueAsNewAfterHandlers[In any](ctx *Context, input func() In, opts ...ContinueOption) error {
	mustFunc(input == nil, "ContinueAsNewAfterHandlers")
	scope := ctx.engine()
	next := bind.Next{}
	err := applyContinue(scope, &next, opts)
	if err == nil {
		next.Input, err = scope.ContinueLate(func() ([]byte, error) {
			return encodeInput(scope, "orchestration", scope.Info().Name, input())
		})
	}
	if err != nil {
		return err
	}
	return bind.Continue(next)
}

func applyContinue(scope *replay.Scope, next *bind.Next, opts []ContinueOption) error {
	if err := bind.Apply(opts, func(o ContinueOption) error { return o.applyContinue(next) }); err != nil {
		return refused("continuing", scope.Info().Name, err)
	}
	return nil
}

// AwaitHandlers waits until no handler of an event or update is running, those of [AbandonAtEnd] aside. Updates of a [Serial] handler that wait
// for their turn count as running. Handlers may begin while it waits, and after it. It returns ctx's error if that is cancelled first.
//
// The end of the function waits for handlers by itself. Use AwaitHandlers to return or use what they have made. To continue as new, use
// [ContinueAsNewAfterHandlers]. In a handler the call returns ErrInvalid: it would wait for itself.
func (c *Context) AwaitHandlers() error { return c.engine().AwaitHandlers() }

// notFromHandler replaces a request to continue as new that a handler, or the function of a side effect, returns. It would be stored as a
// failure that nobody understands.
func notFromHandler(err error) error {
	if !bind.Continues(err) {
		return err
	}
	return newError(failure.ErrInvalid, "it returns ContinueAsNew, which only the function of the orchestration can: "+
		"let it set a variable or send an event, and return ContinueAsNew from that function")
}
