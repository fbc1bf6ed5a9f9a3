package orchestration

import "github.com/perdure/perdure/internal/bind"

// Define gives an orchestration an explicit name, which is then stored in place of the function's own. Use the result in place
// of the function: to register, to start, to call as a child. Closures and instances of generic functions must have a name.
//
//	var Checkout = orchestration.Define("checkout", shop.checkout)
//
//go:noinline
func Define[In, Out any](name string, fn func(*Context, In) (Out, error)) func(*Context, In) (Out, error) {
	return func(ctx *Context, in In) (Out, error) {
		if ctx != nil {
			if asked := bind.AskedOrchestration(&ctx.handle); asked != nil {
				*asked = bind.Definition{Name: name, Code: bind.OrchestrationCode(fn)}
				var none Out
				return none, nil
			}
		}
		return fn(ctx, in)
	}
}
