package activity

import (
	"context"
	"encoding/json"
)

// Interceptor is called around attempts of activities. Embed an [InterceptorBase], which passes all on, and write the methods that are needed.
// runtime.AddActivityInterceptor registers one. Many goroutines may call it at once.
//
// The one that was registered first is outermost. Activities of perdure itself have no interceptors.
type Interceptor interface {
	// Attempt is called around each attempt, local activities included: once for each retry, and again if a node is lost. next runs the activity.
	// Its Context must be derived from the given one. [GetInfo] says which activity it is, and whose.
	//
	// Input and output are JSON, because an Interceptor sees functions of all types. An input that the activity cannot decode, and an output that
	// is no JSON, fail the call with orchestration.ErrPayload. The error of next may be [ErrPending], which has to be returned: the output then comes
	// later, and passes no Interceptor. A panic is one of the activity.
	Attempt(ctx context.Context, input json.RawMessage, next func(context.Context, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error)

	embedsInterceptorBase()
}

// InterceptorBase passes everything on. Each [Interceptor] embeds it.
type InterceptorBase struct{}

var _ Interceptor = InterceptorBase{}

func (InterceptorBase) embedsInterceptorBase() {}

// Attempt implements Interceptor.
func (InterceptorBase) Attempt(
	ctx context.Context, input json.RawMessage, next func(context.Context, json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	return next(ctx, input)
}
