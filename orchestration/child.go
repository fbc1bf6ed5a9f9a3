package orchestration

import (
	"reflect"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// ChildOption is an option of a call of a child orchestration.
type ChildOption interface {
	applyChild(call *history.ChildStarted) error
}

type childFunc func(call *history.ChildStarted) error

func (f childFunc) applyChild(call *history.ChildStarted) error { return f(call) }

// WithInstanceID chooses the child's instance ID. The default is unique to this event of this execution.
func WithInstanceID(id string) ChildOption {
	return childFunc(func(call *history.ChildStarted) error {
		call.ID = id
		return check.Name("instance ID", id)
	})
}

// CallOrchestration runs a child orchestration and waits for its result. The child
// is cancelled when the scope is, and when this execution ends.
func CallOrchestration[In, Out any](
	ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...ChildOption,
) (Out, error) {
	return StartOrchestration(ctx, fn, in, opts...).Get(ctx)
}

// StartOrchestration starts a child orchestration and returns a future of its result. If the ID is in use the future fails with
// ErrExists. A function that is not registered on this node fails the turn; use [StartOrchestrationNamed] or [Define] for one
// that runs elsewhere only.
func StartOrchestration[In, Out any](
	ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...ChildOption,
) Future[Out] {
	scope := ctx.engine()
	name, defined, err := bind.OrchestrationName(fn)
	if err == nil && !defined {
		err = scope.Env().Orchestrations.Check(name, reflect.ValueOf(fn).Pointer())
	}
	if err != nil {
		scope.Fail(newError(failure.ErrNotRegistered, "starting a child: %v", err))
	}
	return StartOrchestrationNamed[Out](ctx, name, in, opts...)
}

// CallOrchestrationNamed is CallOrchestration for a child that is known by name only.
func CallOrchestrationNamed[Out any](ctx *Context, name string, in any, opts ...ChildOption) (Out, error) {
	return StartOrchestrationNamed[Out](ctx, name, in, opts...).Get(ctx)
}

// StartOrchestrationNamed is StartOrchestration for a child that is known by name only.
func StartOrchestrationNamed[Out any](ctx *Context, name string, in any, opts ...ChildOption) Future[Out] {
	scope := ctx.engine()
	call, err := childCall(name, in, opts)
	if err != nil {
		return Future[Out]{f: scope.Failed(err)}
	}
	return Future[Out]{f: scope.Child(call)}
}

func childCall(name string, in any, opts []ChildOption) (*history.ChildStarted, error) {
	call := &history.ChildStarted{Name: name}
	err := check.Name("orchestration name", name)
	if err == nil {
		err = bind.Apply(opts, func(o ChildOption) error { return o.applyChild(call) })
	}
	if err != nil {
		return nil, refused("starting child", name, err)
	}
	call.Input, err = encodeInput("orchestration", name, in)
	return call, err
}
