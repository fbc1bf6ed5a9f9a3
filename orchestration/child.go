package orchestration

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// ChildOption is an option of a call of a child orchestration.
type ChildOption func(*history.ChildStarted) error

// WithInstanceID chooses the child's instance ID. Without it the child gets one that is
// unique to this event of this execution.
func WithInstanceID(id string) ChildOption {
	return func(call *history.ChildStarted) error {
		call.ID = id
		return checkName("instance ID", id)
	}
}

// CallOrchestration runs a child orchestration and waits for its result. The child
// is cancelled when the scope is, and when this execution ends.
func CallOrchestration[In, Out any](
	ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...ChildOption,
) (Out, error) {
	return StartOrchestration(ctx, fn, in, opts...).Get(ctx)
}

// StartOrchestration starts a child orchestration and answers a future of its result. If
// the ID is in use the future fails with ErrExists. A function that is not registered on
// this node fails the turn; use [StartOrchestrationNamed] or [Define] for one that runs elsewhere only.
func StartOrchestration[In, Out any](
	ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...ChildOption,
) Future[Out] {
	name, defined, err := NameOf(fn)
	if err == nil && !defined {
		err = ctx.scope.Env().Orchestrations.Check(name, reflect.ValueOf(fn).Pointer())
	}
	if err != nil {
		ctx.scope.Fail(failure.New(failure.ErrNotRegistered, "starting a child: %v", err))
	}
	return StartOrchestrationNamed[Out](ctx, name, in, opts...)
}

// CallOrchestrationNamed is CallOrchestration for a child that is known by name only.
func CallOrchestrationNamed[Out any](ctx *Context, name string, in any, opts ...ChildOption) (Out, error) {
	return StartOrchestrationNamed[Out](ctx, name, in, opts...).Get(ctx)
}

// StartOrchestrationNamed is StartOrchestration for a child that is known by name only.
func StartOrchestrationNamed[Out any](ctx *Context, name string, in any, opts ...ChildOption) Future[Out] {
	call := &history.ChildStarted{Name: name}
	err := checkName("orchestration", name)
	for _, opt := range opts {
		if err == nil {
			err = opt(call)
		}
	}
	if err == nil {
		call.Input, err = encodeInput("orchestration", name, in)
	}
	if err != nil {
		return Future[Out]{f: ctx.scope.Failed(err)}
	}
	return Future[Out]{f: ctx.scope.Child(call)}
}

// checkName refuses what no storage would take, before anything is recorded.
func checkName(what, name string) error {
	switch {
	case name == "":
		return failure.New(failure.ErrInvalid, "%s is empty", what)
	case len(name) > provider.MaxName:
		return failure.New(failure.ErrInvalid, "%s has %d bytes, the limit is %d", what, len(name), provider.MaxName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return failure.New(failure.ErrInvalid, "%s %q is not valid UTF-8 without NUL", what, name)
	}
	return nil
}
