package orchestration

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// HandleAnyEvent runs fn for each event whose name the code neither handles with [HandleEvent] nor reads as a mailbox. All else is as for
// HandleEvent. It also gets the events of such names that came before the call. So make mailboxes with [Events], and register handlers of names,
// before it.
//
// A handler or a mailbox of a name that the code makes later takes the events that come from then on. A mailbox also takes those that wait
// because 1,000 runs of handlers go on. A second call fails the turn.
func HandleAnyEvent(ctx *Context, fn func(*Context, Incoming) error, opts ...HandlerOption) {
	mustFunc(fn == nil, "HandleAnyEvent")
	scope := ctx.engine()
	var o handlerOptions
	if err := bind.Apply(opts, func(opt HandlerOption) error { return opt.applyHandler(&o) }); err != nil {
		scope.Fail(fmt.Errorf("handling events of all names: %w", err))
	}
	scope.HandleAnyEvent(o.abandon, func(s *replay.Scope, name string, data []byte) error {
		of, e := ctx.in(s), Incoming{Name: name, Input: data}
		if around := chainOf(of); !around.none() {
			return notFromHandler(around.event(fn)(of, e))
		}
		return notFromHandler(fn(of, e))
	})
}

// HandleAnyQuery registers the function that answers the queries whose names have no handler. It reads, as a handler of [HandleQuery] does.
// The query "queries" does not list what it answers. The turn fails if there is one already.
func HandleAnyQuery(ctx *Context, fn func(q Incoming) (any, error)) {
	mustFunc(fn == nil, "HandleAnyQuery")
	scope := ctx.engine()
	scope.HandleAnyQuery(func(name string, input []byte) ([]byte, error) {
		answer := func(q Incoming) (json.RawMessage, error) {
			out, err := fn(q)
			if err != nil {
				return nil, err
			}
			data, err := payload.EncodeExact(out)
			if err != nil {
				return nil, newError(failure.ErrPayload, "answer to query %q: %v", name, err)
			}
			return data, nil
		}
		if around := chainOf(ctx); !around.none() {
			answer = around.query(ctx, answer)
		}
		data, err := answer(Incoming{Name: name, Input: input})
		if err != nil {
			return nil, err
		}
		return payload.EncodeExact(data)
	})
}

// HandleAnyUpdate registers the function that handles the updates whose names have no handler. All else is as for [HandleUpdate]. [Validate] is
// given a func(orchestration.Incoming) error. With [Serial] all these updates run one after the other, whatever their names. The turn fails
// if there is one already.
func HandleAnyUpdate(ctx *Context, fn func(*Context, Incoming) (any, error), opts ...UpdateOption) {
	mustFunc(fn == nil, "HandleAnyUpdate")
	scope := ctx.engine()
	var o updateOptions
	err := bind.Apply(opts, func(opt UpdateOption) error { return opt.applyUpdate(&o) })
	validate, typed := o.validate.(func(Incoming) error)
	if err == nil && o.validate != nil && !typed {
		err = fmt.Errorf("%w: Validate has a %T and the input is %v: give a function of that type", ErrInvalid, o.validate, reflect.TypeFor[Incoming]())
	}
	if err != nil {
		scope.Fail(fmt.Errorf("handling updates of all names: %w", err))
	}
	scope.HandleAnyUpdate(replay.UpdateHandler{
		Serial: o.serial, Abandon: o.abandon,
		Check: func(name string, input []byte) error {
			check := func(u Incoming) error {
				if validate == nil {
					return nil
				}
				return validate(u)
			}
			if around := chainOf(ctx); !around.none() {
				check = around.validate(ctx, check)
			}
			return check(Incoming{Name: name, Input: input})
		},
		Run: func(s *replay.Scope, name string, input []byte) ([]byte, error) {
			run := func(ctx *Context, u Incoming) (json.RawMessage, error) {
				out, err := fn(ctx, u)
				if err != nil {
					return nil, err
				}
				return updateOutput(ctx, name, out)
			}
			of := ctx.in(s)
			if around := chainOf(of); !around.none() {
				run = around.update(run)
			}
			data, err := run(of, Incoming{Name: name, Input: input})
			if err != nil {
				return nil, notFromHandler(err)
			}
			return updateOutput(of, name, data)
		},
	})
}
