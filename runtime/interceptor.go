package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/orchestration"
)

var (
	errNilInterceptor = errors.New("the function is nil: give one that makes an Interceptor")
	errNoInterceptor  = errors.New("the Interceptor is nil: give one")
)

// AddOrchestrationInterceptor registers an interceptor of all orchestrations of the registry. each is called when the code of an execution
// begins to run, also on a replay, and returns the Interceptor of that execution, or nil for none. It is code of the orchestration: see
// orchestration.Interceptor. Its own calls pass no interceptor. The first one added is outermost.
//
// A change of the interceptors is a change of the code of all orchestrations. So they belong to the registry, and [Replay] has them, too. All
// nodes that run an orchestration must have the same ones.
func AddOrchestrationInterceptor(r *Registry, each func(ctx *orchestration.Context) orchestration.Interceptor) error {
	if each == nil || r == nil {
		return r.refuse("interceptor of orchestrations", "", errNilInterceptor)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interceptors = append(r.interceptors, each)
	return nil
}

// AddActivityInterceptor registers an interceptor of all activities of the registry: see activity.Interceptor. The first one added is outermost.
func AddActivityInterceptor(r *Registry, i activity.Interceptor) error {
	if check.IsNil(i) || r == nil {
		return r.refuse("interceptor of activities", "", errNoInterceptor)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts = append(r.attempts, i)
	return nil
}

// around returns what replay.Env.Interceptors has. It needs r.mu.
func (r *Registry) around() any {
	if len(r.interceptors) == 0 {
		return nil
	}
	registered := slices.Clone(r.interceptors)
	return bind.Around[*orchestration.Context](func(
		ctx *orchestration.Context, input json.RawMessage, code bind.Raw[*orchestration.Context],
	) (json.RawMessage, error) {
		var all []orchestration.Interceptor
		for _, each := range registered {
			if i := each(ctx); !check.IsNil(i) {
				all = append(all, i)
			}
		}
		run := func(ctx *orchestration.Context, input json.RawMessage) (json.RawMessage, error) {
			return code(bind.WithInterceptors(ctx, all, 0), input)
		}
		for i, of := range slices.Backward(all) {
			next := run
			run = func(ctx *orchestration.Context, input json.RawMessage) (json.RawMessage, error) {
				return of.Main(bind.WithInterceptors(ctx, all, i+1), input, next)
			}
		}
		return run(ctx, input)
	})
}

// attempt returns an activity within the interceptors. It needs r.mu.
func (r *Registry) attempt(fn bind.ActivityFunc) bind.ActivityFunc {
	if len(r.attempts) == 0 {
		return fn
	}
	run := func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) { return fn(ctx, input) }
	for _, of := range slices.Backward(r.attempts) {
		next := run
		run = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
			return of.Attempt(ctx, input, next)
		}
	}
	return func(ctx context.Context, input []byte) ([]byte, error) {
		out, err := run(ctx, input)
		if err != nil {
			return nil, err
		}
		data, err := payload.EncodeExact(out)
		if err != nil {
			return nil, failure.NonRetryable(failure.New(failure.ErrPayload, "output of an interceptor: %v", err))
		}
		return data, nil
	}
}
