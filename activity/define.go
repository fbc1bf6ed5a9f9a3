package activity

import (
	"context"

	"github.com/perdure/perdure/internal/bind"
)

// None is the input or output of an activity that has none.
type None = struct{}

// Define gives an activity an explicit name, which is then stored in place of the function's own. Use the result in place of
// the function: to register, to call. Closures and instances of generic functions must have a name.
//
//	var Charge = activity.Define("charge", billing.charge)
//
//go:noinline
func Define[In, Out any](name string, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		if asked := bind.ActivityDefinition(ctx); asked != nil {
			*asked = bind.Definition{Name: name, Code: bind.ActivityCode(fn)}
			var none Out
			return none, nil
		}
		return fn(ctx, in)
	}
}

// NoIn makes an activity of a function without input. The name is required.
func NoIn[Out any](name string, fn func(context.Context) (Out, error)) func(context.Context, None) (Out, error) {
	if fn == nil {
		return Define[None, Out](name, nil)
	}
	return Define(name, func(ctx context.Context, _ None) (Out, error) { return fn(ctx) })
}

// NoOut makes an activity of a function without output. The name is required.
func NoOut[In any](name string, fn func(context.Context, In) error) func(context.Context, In) (None, error) {
	if fn == nil {
		return Define[In, None](name, nil)
	}
	return Define(name, func(ctx context.Context, in In) (None, error) { return None{}, fn(ctx, in) })
}
