package orchestration

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// ChildOption is an option of a call of a child orchestration.
type ChildOption interface {
	applyChild(call *history.ChildStarted) error
}

// WithInstanceID chooses the instance ID of a child, or of an instance started by [StartDetached]. The default is unique to this event of
// this execution.
func WithInstanceID(id string) InstanceOption { return idOption(id) }

type idOption string

func (id idOption) check() error { return check.Name("instance ID", string(id)) }

func (id idOption) applyChild(call *history.ChildStarted) error {
	call.ID = string(id)
	return id.check()
}

func (id idOption) applyDetached(call *history.DetachedStarted) error {
	call.ID = string(id)
	return id.check()
}

// CallOrchestration runs a child orchestration and waits for its result. The child
// is cancelled when the scope is, and when this execution ends. [WithCancellation] and [WithClosePolicy] change that.
func CallOrchestration[In, Out any](
	ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...ChildOption,
) (Out, error) {
	return StartOrchestration(ctx, fn, in, opts...).Get(ctx)
}

// StartOrchestration starts a child orchestration and returns a future of its result. The child runs the version of fn: see
// [Version]. If the ID is in use the future fails with
// ErrExists. A function that is not registered on this node fails the turn; use [StartOrchestrationNamed] or [Define] for one
// that runs elsewhere only.
func StartOrchestration[In, Out any](
	ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...ChildOption,
) Future[Out] {
	scope := ctx.engine()
	ref, err := bind.OrchestrationOf(fn)
	if err == nil && !ref.Defined {
		err = scope.Env().Orchestrations.Check(ref.Name, reflect.ValueOf(fn).Pointer())
	}
	if err != nil {
		scope.Fail(newError(failure.ErrNotRegistered, "starting a child: %v", err))
	}
	return startChild[Out](ctx, &history.ChildStarted{Name: ref.Name, CodeVersion: ref.Version}, in, opts)
}

// CallOrchestrationNamed is CallOrchestration for a child that is known by name only.
func CallOrchestrationNamed[Out any](ctx *Context, name string, in any, opts ...ChildOption) (Out, error) {
	return StartOrchestrationNamed[Out](ctx, name, in, opts...).Get(ctx)
}

// StartOrchestrationNamed is StartOrchestration for a child that is known by name only.
func StartOrchestrationNamed[Out any](ctx *Context, name string, in any, opts ...ChildOption) Future[Out] {
	return startChild[Out](ctx, &history.ChildStarted{Name: name}, in, opts)
}

// Child is a child that was started. It is the future of its result.
type Child[Out any] struct {
	Future[Out]

	// Started ends with the instance when the child is stored, and with ErrExists if the ID is in use. An end that comes first settles both. Of
	// a child that was given up before it began, it ends with an error. Cancelling it gives up only the wait.
	Started Future[Instance]
}

// StartChild is [StartOrchestration] for code that wants to know when the child has begun: it costs one more event. A child that was stored when
// the code called StartOrchestration in this place tells of its start at its end.
func StartChild[In, Out any](ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...ChildOption) Child[Out] {
	return started(StartOrchestration(ctx, fn, in, append(slices.Clip(opts), childFunc(tellStart))...))
}

// StartChildNamed is StartChild for a child that is known by name only.
func StartChildNamed[Out any](ctx *Context, name string, in any, opts ...ChildOption) Child[Out] {
	return started(StartOrchestrationNamed[Out](ctx, name, in, append(slices.Clip(opts), childFunc(tellStart))...))
}

func started[Out any](f Future[Out]) Child[Out] {
	return Child[Out]{Future: f, Started: Future[Instance]{f: f.f.Begun()}}
}

func tellStart(call *history.ChildStarted) error {
	call.TellStart = true
	return nil
}

func startChild[Out any](ctx *Context, call *history.ChildStarted, in any, opts []ChildOption) Future[Out] {
	if around := chainOf(ctx); !around.none() {
		return Future[Out]{f: interceptChild(ctx, around, ChildCall{Name: call.Name, Version: call.CodeVersion, Options: opts}, in)}
	}
	return Future[Out]{f: callChild(ctx, call, in, opts)}
}

func interceptChild(ctx *Context, around chain, call ChildCall, in any) *replay.Future {
	var err error
	if call.Input, err = encodeInput(ctx.engine(), "orchestration", call.Name, in); err != nil {
		return ctx.engine().Failed(err)
	}
	return around.child(ctx, call, func(ctx *Context, call ChildCall) Future[json.RawMessage] {
		started := &history.ChildStarted{Name: call.Name, CodeVersion: call.Version}
		return Future[json.RawMessage]{f: callChild(ctx, started, call.Input, call.Options)}
	}).f
}

// callChild starts a child whose call has passed the interceptors.
func callChild(ctx *Context, call *history.ChildStarted, in any, opts []ChildOption) *replay.Future {
	scope := ctx.engine()
	if err := completeCall(scope, call, in, opts); err != nil {
		return scope.Failed(err)
	}
	// Histories from before this check still replay.
	if err := mayReach(scope, call.Name, call.ID); err != nil && !scope.Replaying() {
		scope.Fail(refused("starting child", call.Name, err))
	}
	beginLimit(call.Attributes, ctx.Now())
	return scope.Child(call)
}

// completeCall applies the options of a call and encodes its input.
func completeCall(scope *replay.Scope, call *history.ChildStarted, in any, opts []ChildOption) error {
	name := call.Name
	err := check.Name("orchestration name", name)
	if err == nil {
		err = bind.Apply(opts, func(o ChildOption) error { return o.applyChild(call) })
	}
	if err != nil {
		return refused("starting child", name, err)
	}
	call.Input, err = encodeInput(scope, "orchestration", name, in)
	return err
}
