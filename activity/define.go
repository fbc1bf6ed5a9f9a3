package activity

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"

	"github.com/perdure/perdure/internal/funcname"
)

// None is the input or output of an activity that has none.
type None = struct{}

type askKey struct{}

// definition is what Define was given.
type definition struct {
	name string
	code uintptr // of the function; 0: it is nil
}

var errNilFunc = errors.New("the function is nil: give one")

const definedPrefix = "github.com/perdure/perdure/activity.Define["

// Define gives an activity an explicit name, which is then stored in place of the
// function's own. The answer is used wherever the function would be: to register, to
// call. Closures and instances of generic functions need it.
//
//	var Charge = activity.Define("charge", billing.charge)
//
//go:noinline
func Define[In, Out any](name string, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		if asked, ok := ctx.Value(askKey{}).(*definition); ok {
			*asked = definition{name, Code(fn)}
			var none Out
			return none, nil
		}
		return fn(ctx, in)
	}
}

// NameOf answers the stored name of an activity function: the one given by [Define]
// (defined is then true) or the function's bare name. Closures and generic instances
// without a name are an error.
func NameOf[In, Out any](fn func(context.Context, In) (Out, error)) (name string, defined bool, err error) {
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

// Code identifies the code of an activity function, behind [Define] if it was defined. Method
// values of two receivers share their code. It is for package runtime.
func Code[In, Out any](fn func(context.Context, In) (Out, error)) uintptr {
	if given, ok := ask(fn); ok {
		return given.code
	}
	return reflect.ValueOf(fn).Pointer()
}

// ask lets a defined function tell of itself; ok is false for any other.
func ask[In, Out any](fn func(context.Context, In) (Out, error)) (given definition, ok bool) {
	code := runtime.FuncForPC(reflect.ValueOf(fn).Pointer())
	if code == nil || !strings.HasPrefix(code.Name(), definedPrefix) {
		return given, false
	}
	var none In
	asking := context.WithValue(context.Background(), askKey{}, &given) //nolint:forbidigo // only carries the question to Define's closure
	_, _ = fn(asking, none)
	return given, true
}

// NoIn makes an activity of a function without input. The name must be given.
func NoIn[Out any](name string, fn func(context.Context) (Out, error)) func(context.Context, None) (Out, error) {
	if fn == nil {
		return Define[None, Out](name, nil)
	}
	return Define(name, func(ctx context.Context, _ None) (Out, error) { return fn(ctx) })
}

// NoOut makes an activity of a function without output. The name must be given.
func NoOut[In any](name string, fn func(context.Context, In) error) func(context.Context, In) (None, error) {
	if fn == nil {
		return Define[In, None](name, nil)
	}
	return Define(name, func(ctx context.Context, in In) (None, error) { return None{}, fn(ctx, in) })
}
