package orchestration

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/bind"
)

// chain has the interceptors that a Context's calls and handlers pass.
type chain struct {
	all  []Interceptor // of the execution, outermost first; empty: none
	from int           // the calls of an interceptor pass those behind it
}

func chainOf(ctx *Context) chain {
	if ctx == nil {
		return chain{} // the call itself says so
	}
	all, from := bind.InterceptorsOf(&ctx.handle)
	if all == nil {
		return chain{}
	}
	of, _ := all.([]Interceptor)
	return chain{of, from}
}

// behind returns the Context for the method of the i-th interceptor.
func (c chain) behind(ctx *Context, i int) *Context {
	return bind.WithInterceptors(ctx, c.all, c.from+i+1)
}

// restored returns the Context for the code, which an interceptor may have given another Context.
func (c chain) restored(ctx *Context) *Context { return bind.WithInterceptors(ctx, c.all, c.from) }

// inner calls visit with each interceptor of the chain, innermost first.
func (c chain) inner(visit func(i int, of Interceptor)) {
	if c.from < len(c.all) {
		for i, of := range slices.Backward(c.all[c.from:]) {
			visit(i, of)
		}
	}
}

// none reports whether the calls pass no interceptor.
func (c chain) none() bool { return c.from >= len(c.all) }

func (c chain) event(run func(*Context, Incoming) error) func(*Context, Incoming) error {
	code := run
	run = func(ctx *Context, e Incoming) error { return code(c.restored(ctx), e) }
	c.inner(func(i int, of Interceptor) {
		next := run
		run = func(ctx *Context, e Incoming) error { return of.Event(c.behind(ctx, i), e, next) }
	})
	return run
}

func (c chain) query(ctx *Context, run func(Incoming) (json.RawMessage, error)) func(Incoming) (json.RawMessage, error) {
	c.inner(func(i int, of Interceptor) {
		next, behind := run, c.behind(ctx, i)
		run = func(q Incoming) (json.RawMessage, error) { return of.Query(behind, q, next) }
	})
	return run
}

func (c chain) validate(ctx *Context, run func(Incoming) error) func(Incoming) error {
	c.inner(func(i int, of Interceptor) {
		next, behind := run, c.behind(ctx, i)
		run = func(u Incoming) error { return of.ValidateUpdate(behind, u, next) }
	})
	return run
}

func (c chain) update(run func(*Context, Incoming) (json.RawMessage, error)) func(*Context, Incoming) (json.RawMessage, error) {
	code := run
	run = func(ctx *Context, u Incoming) (json.RawMessage, error) { return code(c.restored(ctx), u) }
	c.inner(func(i int, of Interceptor) {
		next := run
		run = func(ctx *Context, u Incoming) (json.RawMessage, error) { return of.Update(c.behind(ctx, i), u, next) }
	})
	return run
}

type (
	startActivity func(*Context, ActivityCall) Future[json.RawMessage]
	startedChild  func(*Context, ChildCall) Future[json.RawMessage]
)

func (c chain) activity(ctx *Context, call ActivityCall, start startActivity, local bool) Future[json.RawMessage] {
	c.inner(func(i int, of Interceptor) {
		next := start
		start = func(ctx *Context, call ActivityCall) Future[json.RawMessage] {
			if local {
				return of.Local(c.behind(ctx, i), call, next)
			}
			return of.Activity(c.behind(ctx, i), call, next)
		}
	})
	return start(ctx, call)
}

func (c chain) child(ctx *Context, call ChildCall, start startedChild) Future[json.RawMessage] {
	c.inner(func(i int, of Interceptor) {
		next := start
		start = func(ctx *Context, call ChildCall) Future[json.RawMessage] {
			return of.Child(c.behind(ctx, i), call, next)
		}
	})
	return start(ctx, call)
}

func (c chain) timer(ctx *Context, d time.Duration) Future[None] {
	start := startTimer
	c.inner(func(i int, of Interceptor) {
		next := start
		start = func(ctx *Context, d time.Duration) Future[None] { return of.Timer(c.behind(ctx, i), d, next) }
	})
	return start(ctx, d)
}

func (c chain) sideEffect(ctx *Context, run func(*Context) (json.RawMessage, error)) (json.RawMessage, error) {
	c.inner(func(i int, of Interceptor) {
		next := run
		run = func(ctx *Context) (json.RawMessage, error) { return of.SideEffect(c.behind(ctx, i), next) }
	})
	return run(ctx)
}
