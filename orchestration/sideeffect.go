package orchestration

import (
	"encoding/json"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
)

// SideEffect runs fn once and records its result. Replay returns the record. The function must be quick. It must not
// use the engine, else the turn fails. Use it for a value such as a reading of the configuration. Work that takes
// longer or can fail belongs in an activity. The engine may run fn again if the node is lost before the turn is stored.
func SideEffect[T any](ctx *Context, fn func() (T, error)) (T, error) {
	mustFunc(fn == nil, "SideEffect")
	var out T
	var data json.RawMessage
	var err error
	if around := chainOf(ctx); around.none() {
		data, err = runEffect(ctx, fn)
	} else {
		data, err = around.sideEffect(ctx, func(ctx *Context) (json.RawMessage, error) { return runEffect(ctx, fn) })
	}
	if err != nil {
		return out, err
	}
	if err := payload.Decode(data, &out); err != nil {
		return out, newError(failure.ErrPayload, "value of a side effect: %v", err)
	}
	return out, nil
}

// runEffect runs the function of a side effect, or returns its record.
func runEffect[T any](ctx *Context, fn func() (T, error)) (json.RawMessage, error) {
	scope := ctx.engine()
	return scope.SideEffect(func() ([]byte, *history.Failure) {
		value, err := fn()
		var data []byte
		if err == nil {
			if data, err = payload.EncodeExact(value); err != nil {
				err = newError(failure.ErrPayload, "value of a side effect: %v", err)
			}
		}
		if err != nil {
			return nil, new(scope.Env().Errors.Encode(notFromHandler(err)))
		}
		return data, nil
	})
}
