package orchestration

import (
	"fmt"
	"reflect"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// HandlerOption is an option of a handler: of [HandleEvent] and [HandleUpdate].
type HandlerOption interface {
	UpdateOption
	applyHandler(o *handlerOptions) error
}

type handlerFunc func(o *handlerOptions) error

func (f handlerFunc) applyHandler(o *handlerOptions) error { return f(o) }

type handlerOptions struct{ abandon bool }

// AbandonAtEnd lets the orchestration end although the handler is running. The handler then ends where it waits.
func AbandonAtEnd() HandlerOption {
	return handlerFunc(func(o *handlerOptions) error {
		o.abandon = true
		return nil
	})
}

// HandleEvent runs fn for each external event of a name, as a coroutine of its own. Events that came before the call begin it
// in their order, before the orchestration's function waits next, takes an event or returns. Then each event begins it as it
// comes. At most 1,000 runs of event handlers go on at a time, and later events wait. Runs
// may overlap where they wait. Coroutines never run at the same time, so fn may share variables with the rest of the code. In
// may be [None].
//
// Runs go on when the orchestration's function has returned, failed or continued as new: the instance ends when all have
// returned. Work that the function itself has begun is cancelled, and its coroutines end. From then on events are kept as those that
// nobody took, and an execution that continues takes them over. See [Context.SetHandlerGrace] for how long the runs may go on.
// Executions that an older release started end at once. fn must use the Context that it is given: it is cancelled when the
// instance is.
//
// An error of fn is logged and counted in Stats.EventHandlersFailed, as there is nobody to tell. So is an event that cannot be
// decoded into In. A panic of fn fails the turn, like any panic of an orchestration: the event is kept, the instance shows as
// Blocked, and it continues when the code is mended.
//
// A name has either one handler or a mailbox; see [Events]. The turn fails if the name has a handler already or is read as a
// mailbox, if it is not 1 to 512 bytes of UTF-8 without NUL, or if In cannot be stored as JSON.
func HandleEvent[In any](ctx *Context, name string, fn func(*Context, In) error, opts ...HandlerOption) {
	mustFunc(fn == nil, "HandleEvent")
	scope := ctx.engine()
	var o handlerOptions
	err := check.Name("event name", name)
	if err == nil {
		err = payload.Check(reflect.TypeFor[In]())
	}
	if err == nil {
		err = bind.Apply(opts, func(opt HandlerOption) error { return opt.applyHandler(&o) })
	}
	if err != nil {
		scope.Fail(fmt.Errorf("handling event %s: %w", check.Quote(name), err))
	}
	scope.HandleEvent(name, o.abandon, func(s *replay.Scope, data []byte) error {
		of := ctx.in(s)
		if around := chainOf(of); !around.none() {
			run := around.event(func(ctx *Context, e Incoming) error { return handleEvent(ctx, name, e.Input, fn) })
			return notFromHandler(run(of, Incoming{Name: name, Input: data}))
		}
		return notFromHandler(handleEvent(of, name, data, fn))
	})
}

func handleEvent[In any](ctx *Context, name string, data []byte, fn func(*Context, In) error) error {
	var event In
	if err := payload.Decode(data, &event); err != nil {
		return newError(failure.ErrPayload, "event %q: %v", name, err)
	}
	return fn(ctx, event)
}

// maxHandlerGrace bounds how long an instance may stay open for its handlers.
const maxHandlerGrace = 365 * 24 * time.Hour

// SetHandlerGrace sets how long handlers may go on when the orchestration's function has returned; 10 minutes by default. Then
// they are cancelled, and a minute later the instance ends without them. It also ends, after it has cancelled them, when all
// handlers wait for something that no activity, timer or child can bring about. The history records the time at the return, so that a later
// call has no effect. d is more than 0, at most 365 days and rounded down to microseconds, else the turn fails.
func (c *Context) SetHandlerGrace(d time.Duration) {
	scope := c.engine()
	if d <= 0 || d > maxHandlerGrace {
		scope.Fail(fmt.Errorf("handler grace of %v: give more than 0 and at most %v", d, maxHandlerGrace))
	}
	scope.SetHandlerGrace(d)
}
