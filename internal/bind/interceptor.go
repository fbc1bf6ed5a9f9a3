package bind

import (
	"encoding/json"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// Raw is an orchestration function from encoded input to encoded output. P is *orchestration.Context.
type Raw[P any] func(ctx P, input json.RawMessage) (json.RawMessage, error)

// Around runs the function of an orchestration within new interceptors. It is the type of replay.Env.Interceptors.
type Around[P any] func(ctx P, input json.RawMessage, code Raw[P]) (json.RawMessage, error)

// intercepted is Orchestration with interceptors.
//
//go:noinline
func intercepted[C any, P Holder[C], In, Out any](s *replay.Scope, fn func(P, In) (Out, error), around any) replay.Result {
	ctx := P(new(C))
	ctx.held().scope = s
	run, ok := around.(Around[P])
	if !ok {
		panic("the interceptors are not of package orchestration")
	}
	out, err := run(ctx, s.Input(), func(ctx P, input json.RawMessage) (json.RawMessage, error) {
		var in In
		if err := payload.Decode(input, &in); err != nil {
			return nil, failure.New(failure.ErrPayload, "input: %v", err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return output(s, out)
	})
	return result(s, out, err)
}

// WithInterceptors returns a handle of the same scope, whose calls pass the interceptors all[from:]. all is an []orchestration.Interceptor.
func WithInterceptors[C any, P Holder[C]](ctx P, all any, from int) P {
	m := more{}
	if given := ctx.held().more; given != nil {
		m = *given
	}
	m.interceptors, m.from = all, from
	with := P(new(C))
	*with.held() = Context{scope: ctx.held().scope, more: &m}
	return with
}

// InterceptorsOf returns the arguments of WithInterceptors; nil if there are none.
func InterceptorsOf(c *Context) (all any, from int) {
	if c.more == nil {
		return nil, 0
	}
	return c.more.interceptors, c.more.from
}
