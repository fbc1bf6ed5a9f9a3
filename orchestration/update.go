package orchestration

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// UpdateOption is an option of [HandleUpdate]. [Validate], [Serial] and [AbandonAtEnd] make one.
type UpdateOption interface {
	applyUpdate(o *updateOptions) error
}

type updateOptions struct {
	validate any // func(In) error; nil: none
	serial   bool
	abandon  bool
}

type updateFunc func(o *updateOptions) error

func (f updateFunc) applyUpdate(o *updateOptions) error { return f(o) }

func (f handlerFunc) applyUpdate(o *updateOptions) error {
	var of handlerOptions
	err := f(&of)
	o.abandon = o.abandon || of.abandon
	return err
}

// Validate makes fn decide whether an update is accepted. It sees the variables of the code as they are after everything
// that came before the update. An error rejects the update: client.Update returns it with client.ErrRejected, and the
// history gets no event. In is the input type of the handler.
//
// fn only reads. It must not change a variable. It may call Now, Info, Err and Logger of the Context. An update whose
// validator panics or makes any other call is rejected with client.ErrPanicked.
func Validate[In any](fn func(In) error) UpdateOption {
	return updateFunc(func(o *updateOptions) error {
		if fn == nil {
			return fmt.Errorf("%w: the function given to Validate is nil: give one", ErrInvalid)
		}
		o.validate = fn
		return nil
	})
}

// Serial lets the updates of a handler run one after the other, in the order in which they were accepted. Without it they
// may overlap where they wait. An update that had to wait is validated again when its turn comes. If it is rejected then, that
// is its outcome.
func Serial() UpdateOption {
	return updateFunc(func(o *updateOptions) error {
		o.serial = true
		return nil
	})
}

// HandleUpdate registers the function that handles the updates of a name: calls from outside that may change variables of
// the code, wait, and return a result. client.Update makes one. In and Out may be [None]. Register handlers at the beginning of
// the orchestration, before it first waits. Updates that came before the code began wait for that. When the code has
// waited once, an update without a handler is refused at once, with the names of those that there are.
//
// fn runs as a coroutine of its own, and may do all that orchestration code does. Coroutines never run at the same time, so fn
// may share variables with the rest of the code. An accepted update is part of the history: it is completed exactly once, also
// across crashes. Its error is the outcome that the caller gets. An instance takes each update ID once, also when it continues as new.
//
// An update whose input cannot be decoded is rejected. So is one whose handler panics in the turn in which it begins:
// the caller gets client.ErrPanicked with the text, and the instance goes on as if the update had never come. A panic later
// fails the turn like that of any other code.
//
// Runs go on when the orchestration's function has returned, as those of [HandleEvent] do. From then on updates are refused with
// client.ErrClosing, or go to the next execution. The turn fails if the name has a handler already, is not 1 to 512 bytes of
// UTF-8 without NUL, or if In or Out cannot be stored as JSON.
func HandleUpdate[In, Out any](ctx *Context, name string, fn func(*Context, In) (Out, error), opts ...UpdateOption) {
	mustFunc(fn == nil, "HandleUpdate")
	scope := ctx.engine()
	var o updateOptions
	err := checkUpdate[In, Out](name)
	if err == nil {
		err = bind.Apply(opts, func(opt UpdateOption) error { return opt.applyUpdate(&o) })
	}
	validate, typed := o.validate.(func(In) error)
	if err == nil && o.validate != nil && !typed {
		err = fmt.Errorf("%w: Validate has a %T and the input is %v: give a function of that type", ErrInvalid, o.validate, reflect.TypeFor[In]())
	}
	if err != nil {
		scope.Fail(fmt.Errorf("handling update %s: %w", check.Quote(name), err))
	}
	scope.HandleUpdate(name, replay.UpdateHandler{
		Serial: o.serial, Abandon: o.abandon,
		Check: func(_ string, input []byte) error {
			if around := chainOf(ctx); !around.none() {
				run := around.validate(ctx, func(u Incoming) error { return validateUpdate(name, u.Input, validate) })
				return run(Incoming{Name: name, Input: input})
			}
			return validateUpdate(name, input, validate)
		},
		Run: func(s *replay.Scope, _ string, input []byte) ([]byte, error) {
			of := ctx.in(s)
			if around := chainOf(of); !around.none() {
				run := around.update(func(ctx *Context, u Incoming) (json.RawMessage, error) { return handleUpdate(ctx, name, u.Input, fn) })
				out, err := run(of, Incoming{Name: name, Input: input})
				if err != nil {
					return nil, notFromHandler(err)
				}
				return updateOutput(of, name, out)
			}
			out, err := handleUpdate(of, name, input, fn)
			return out, notFromHandler(err)
		},
	})
}

func validateUpdate[In any](name string, input []byte, validate func(In) error) error {
	in, err := decodeUpdate[In](name, input)
	if err == nil && validate != nil {
		err = validate(in)
	}
	return err
}

func handleUpdate[In, Out any](ctx *Context, name string, input []byte, fn func(*Context, In) (Out, error)) ([]byte, error) {
	update, err := decodeUpdate[In](name, input)
	if err != nil {
		return nil, err
	}
	out, err := fn(ctx, update)
	if err != nil {
		return nil, err
	}
	return updateOutput(ctx, name, out)
}

func updateOutput(ctx *Context, name string, out any) ([]byte, error) {
	data, err := ctx.engine().EncodeOutput(out)
	if err != nil {
		return nil, newError(failure.ErrPayload, "output of update %q: %v", name, err)
	}
	return data, nil
}

func decodeUpdate[In any](name string, data []byte) (v In, err error) {
	if err := payload.Decode(data, &v); err != nil {
		return v, newError(failure.ErrPayload, "input of update %q: %v", name, err)
	}
	return v, nil
}

func checkUpdate[In, Out any](name string) error {
	if err := check.Name("update name", name); err != nil {
		return err
	}
	if err := payload.Check(reflect.TypeFor[In]()); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if err := payload.Check(reflect.TypeFor[Out]()); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}
