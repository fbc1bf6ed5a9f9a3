package orchestration

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/funcname"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// definition is what Define was given.
type definition struct {
	name string
	code uintptr // of the function; 0: it is nil
}

var errNilFunc = errors.New("the function is nil: give one")

const definedPrefix = "github.com/perdure/perdure/orchestration.Define["

// Define gives an orchestration an explicit name, which is then stored in place of the
// function's own. The answer is used wherever the function would be: to register, to
// start, to call as a child. Closures and instances of generic functions need it.
//
//	var Checkout = orchestration.Define("checkout", shop.checkout)
//
//go:noinline
func Define[In, Out any](name string, fn func(*Context, In) (Out, error)) func(*Context, In) (Out, error) {
	return func(ctx *Context, in In) (Out, error) {
		if ctx != nil && ctx.asked != nil {
			*ctx.asked = definition{name, Code(fn)}
			var none Out
			return none, nil
		}
		return fn(ctx, in)
	}
}

// NameOf answers the stored name of an orchestration function: the one given by [Define]
// (defined is then true) or the function's bare name. Closures and generic instances
// without a name are an error.
func NameOf[In, Out any](fn func(*Context, In) (Out, error)) (name string, defined bool, err error) {
	if fn == nil {
		return "", false, errNilFunc
	}
	if given, ok := ask(fn); ok {
		if given.code == 0 {
			return given.name, true, errNilFunc
		}
		return given.name, true, nil
	}
	name, err = funcname.Of(fn)
	return name, false, err
}

// Code identifies the code of an orchestration function, behind [Define] if it was defined.
// Method values of two receivers share their code. It is for package runtime.
func Code[In, Out any](fn func(*Context, In) (Out, error)) uintptr {
	if given, ok := ask(fn); ok {
		return given.code
	}
	return reflect.ValueOf(fn).Pointer()
}

// ask lets a defined function tell of itself; ok is false for any other.
func ask[In, Out any](fn func(*Context, In) (Out, error)) (given definition, ok bool) {
	code := runtime.FuncForPC(reflect.ValueOf(fn).Pointer())
	if code == nil || !strings.HasPrefix(code.Name(), definedPrefix) {
		return given, false
	}
	var none In
	_, _ = fn(&Context{asked: &given}, none)
	return given, true
}

// Bind erases the types of an orchestration function. It is for package runtime.
func Bind[In, Out any](fn func(*Context, In) (Out, error)) replay.Body {
	return func(s *replay.Scope) replay.Result {
		var in In
		if err := payload.Decode(s.Input(), &in); err != nil {
			return failed(s, failure.New(failure.ErrPayload, "input: %v", err))
		}
		out, err := fn(&Context{scope: s}, in)
		return result(s, out, err)
	}
}

// result says how the code ended. It is apart from what calls the code, as is failed: what they need is not on the stack of each execution that
// waits.
func result[Out any](s *replay.Scope, out Out, err error) replay.Result {
	if next := continued(err); next != nil {
		return replay.Result{Continue: next.event()}
	}
	var data []byte
	if err == nil {
		if data, err = payload.Encode(out); err != nil {
			err = failure.New(failure.ErrPayload, "output: %v", err)
		} else {
			err = s.AdmitPayload(len(data), "output")
		}
	}
	if err != nil {
		r := failed(s, err)
		// Only the engine's own cancellation of the whole execution counts as one.
		r.Cancelled = s.Err() != nil && failure.IsCancelled(r.Failure)
		return r
	}
	return replay.Result{Output: data}
}

//go:noinline
func failed(s *replay.Scope, err error) replay.Result {
	f := s.Env().Errors.Encode(err)
	return replay.Result{Failure: &f}
}

// Outcome decodes how an instance ended into its output or error. It is for package client.
func Outcome[Out any](output []byte, err error) (Out, error) {
	var out Out
	if err != nil {
		return out, err
	}
	if err := payload.Decode(output, &out); err != nil {
		return out, fmt.Errorf("output of the orchestration: %w", err)
	}
	return out, nil
}
