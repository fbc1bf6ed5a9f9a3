package activity

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/perdure/perdure/internal/funcname"
)

// None is the input or output of an activity that has none.
type None = struct{}

type nameKey struct{}

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
		if asked, ok := ctx.Value(nameKey{}).(*string); ok {
			*asked = name
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
		return "", false, fmt.Errorf("activity function is nil")
	}
	if code := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()); code != nil && strings.HasPrefix(code.Name(), definedPrefix) {
		var none In
		asking := context.WithValue(context.Background(), nameKey{}, &name) //nolint:forbidigo // only carries the question to Define's closure
		_, _ = fn(asking, none)
		return name, true, nil
	}
	name, err = funcname.Of(fn)
	return name, false, err
}

// NoIn makes an activity of a function without input. The name must be given.
func NoIn[Out any](name string, fn func(context.Context) (Out, error)) func(context.Context, None) (Out, error) {
	return Define(name, func(ctx context.Context, _ None) (Out, error) { return fn(ctx) })
}

// NoOut makes an activity of a function without output. The name must be given.
func NoOut[In any](name string, fn func(context.Context, In) error) func(context.Context, In) (None, error) {
	return Define(name, func(ctx context.Context, in In) (None, error) { return None{}, fn(ctx, in) })
}
