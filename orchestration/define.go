package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// DefineOption is an option of Define, and of a child or instance that is started by name, too. Version makes one.
type DefineOption interface {
	InstanceOption
	applyDefine(d *bind.Definition) error
}

type versionOption string

// Version names the version of the code of an orchestration: 1 to 512 bytes of UTF-8 without NUL. Several versions of one name can be
// registered side by side. An instance is pinned to the version that it started with, also its later turns on other nodes. Calls and
// clients that take the result of Define start its version.
//
//	var CheckoutV1 = orchestration.Define("checkout", checkoutV1)
//	var Checkout = orchestration.Define("checkout", checkout, orchestration.Version("2"))
//
// An instance that continues as new takes the newest version: see [ContinueAsNew]. Numbers in versions count by value, so "9" is
// older than "10", and "1.9" older than "1.10". All else counts byte by byte. Code without a version is older than all versions. A
// commit hash says nothing about age: put a date or a counter in front of it.
//
// As an option of StartOrchestrationNamed and StartDetachedNamed it chooses the version of the child or instance. Without it that runs
// code without a version.
func Version(version string) DefineOption { return versionOption(version) }

func (v versionOption) check() error { return check.Name("version", string(v)) }

func (v versionOption) applyDefine(d *bind.Definition) error {
	d.Version = string(v)
	return v.check()
}

func (v versionOption) applyDetached(call *history.DetachedStarted) error {
	call.CodeVersion = string(v)
	return v.check()
}

func (v versionOption) applyChild(call *history.ChildStarted) error {
	call.CodeVersion = string(v)
	return v.check()
}

// Define gives an orchestration an explicit name, which is then stored in place of the function's own. Use the result in place
// of the function: to register, to start, to call as a child. Closures and instances of generic functions must have a name.
//
//	var Checkout = orchestration.Define("checkout", shop.checkout)
//
// Whoever uses the result first gets the error of an option that is not allowed.
//
//go:noinline
func Define[In, Out any](name string, fn func(*Context, In) (Out, error), opts ...DefineOption) func(*Context, In) (Out, error) {
	d := bind.Definition{Name: name, Code: bind.OrchestrationCode(fn)}
	if err := bind.Apply(opts, func(o DefineOption) error { return o.applyDefine(&d) }); err != nil {
		d.Err = fmt.Errorf("defining: %w", newError(failure.ErrInvalid, "%v", err))
	}
	return func(ctx *Context, in In) (Out, error) {
		if ctx != nil {
			if asked := bind.OrchestrationDefinition(&ctx.handle); asked != nil {
				*asked = d
				var none Out
				return none, nil
			}
		}
		return fn(ctx, in)
	}
}
