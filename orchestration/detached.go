package orchestration

import (
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
)

// DetachedOption is an option of StartDetached.
type DetachedOption interface {
	applyDetached(call *history.DetachedStarted) error
}

type detachedFunc func(call *history.DetachedStarted) error

func (f detachedFunc) applyDetached(call *history.DetachedStarted) error { return f(call) }

// InstanceOption is an option of the start of a child, and of StartDetached.
type InstanceOption interface {
	ChildOption
	DetachedOption
}

// WithRequestID makes a detached start repeatable: under the same instance ID and request ID it starts one instance only, whatever code
// asks for it. A repeat is told of that instance, also when it has ended. It needs [WithInstanceID], too. Code needs it if a reset may
// run the start again. The ID has 1 to 512 bytes of UTF-8 without NUL.
func WithRequestID(id string) DetachedOption {
	return detachedFunc(func(call *history.DetachedStarted) error {
		call.RequestID = id
		return check.Name("request ID", id)
	})
}

// WithEvent raises an event together with a detached start: the instance is never without it, and its code gets such events in their order, before
// all others. A start has at most 100. The payload is stored as JSON. If the start is refused, the event reaches nobody.
func WithEvent(name string, v any) DetachedOption {
	return detachedFunc(func(call *history.DetachedStarted) error {
		if err := check.Name("event name", name); err != nil {
			return err
		}
		if len(call.Events) == maxFirstEvents {
			return fmt.Errorf("event %s: a start has at most %d events", check.Quote(name), maxFirstEvents)
		}
		data, err := payload.EncodeExact(v)
		if err != nil {
			return fmt.Errorf("event %s: %w", check.Quote(name), err)
		}
		call.Events = append(call.Events, history.FirstEvent{Name: name, Payload: data})
		return nil
	})
}

// maxFirstEvents is how many events a detached start may have.
const maxFirstEvents = 100

// TellEnd has this instance told of the end of the one that it starts, by an event of the given name whose payload is an [Ended]. The
// event comes to whichever execution is current then, also after continue-as-new. Every end is told: an outcome, a termination and a
// deletion. So is the next end after a reset of the instance. A repeat of a start tells those that the first one has named.
//
// Nobody is told if nodes of a release before level 9 end the instance, or if this instance is a fork. So code that acts on silence also
// looks by itself.
func TellEnd(event string) DetachedOption {
	return detachedFunc(func(call *history.DetachedStarted) error {
		call.EndEvent = event
		return check.Name("event name", event)
	})
}

// Ended is the payload of the event that [TellEnd] asks for. It does not say how the instance ended.
type Ended struct {
	Instance

	RequestID string `json:"requestId,omitempty"` // of WithRequestID
}

// StartDetached starts an instance that is no child, in the commit of the turn. The instance outlives this one: neither the end of
// this execution nor a cancellation of the scope reaches it. It gets the header of this instance. It runs the version of fn: see
// [Version].
//
// The future is of the start, not of the outcome. It ends with the instance when that is stored, and with ErrExists if the instance ID is in
// use by another request. Cancelling the future gives up only the wait. If this execution ends or continues as new in the same turn, the
// instance is started, too, and a refusal is lost. It goes to the dead letters if the execution ends.
//
// An instance of the same turn is not there yet for [Raise] and [CancelInstance]: wait for the future first. A function that is not
// registered on this node fails the turn; use [StartDetachedNamed] or [Define] for one that runs elsewhere only.
func StartDetached[In, Out any](
	ctx *Context, fn func(*Context, In) (Out, error), in In, opts ...DetachedOption,
) Future[Instance] {
	scope := ctx.engine()
	ref, err := bind.OrchestrationOf(fn)
	if err == nil && !ref.Defined {
		err = scope.Env().Orchestrations.Check(ref.Name, reflect.ValueOf(fn).Pointer())
	}
	if err != nil {
		scope.Fail(newError(failure.ErrNotRegistered, "starting an instance: %v", err))
	}
	return startDetached(ctx, &history.DetachedStarted{Name: ref.Name, CodeVersion: ref.Version}, in, opts)
}

// StartDetachedNamed is StartDetached for an orchestration that is known by name only. Without [Version] it runs code without a version.
func StartDetachedNamed(ctx *Context, name string, in any, opts ...DetachedOption) Future[Instance] {
	return startDetached(ctx, &history.DetachedStarted{Name: name}, in, opts)
}

func startDetached(ctx *Context, call *history.DetachedStarted, in any, opts []DetachedOption) Future[Instance] {
	scope := ctx.engine()
	if err := completeDetached(scope, call, in, opts); err != nil {
		return Future[Instance]{f: scope.Failed(err)}
	}
	// Histories from before this check still replay.
	if reserved.ID(call.RequestID) && !reserved.Name(scope.Info().Name) && !scope.Replaying() {
		scope.Fail(refused("starting", call.Name, fmt.Errorf("request IDs that begin with %s belong to perdure itself: choose another one", reserved.IDPrefix)))
	}
	beginLimit(call.Attributes, ctx.Now())
	return Future[Instance]{f: scope.StartDetached(call)}
}

// completeDetached applies the options of a start and encodes its input.
func completeDetached(scope *replay.Scope, call *history.DetachedStarted, in any, opts []DetachedOption) error {
	name := call.Name
	err := check.Name("orchestration name", name)
	if err == nil {
		err = bind.Apply(opts, func(o DetachedOption) error { return o.applyDetached(call) })
	}
	if err == nil && call.RequestID != "" && call.ID == "" {
		err = fmt.Errorf("it has request ID %s and no instance ID, under which a repeat would find it: add WithInstanceID", check.Quote(call.RequestID))
	}
	if err == nil {
		err = mayReach(scope, name, call.ID)
	}
	if err != nil {
		return refused("starting", name, err)
	}
	call.Input, err = encodeInput(scope, "orchestration", name, in)
	return err
}
