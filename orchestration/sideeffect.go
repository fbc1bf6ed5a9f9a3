package orchestration

import (
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
)

// SideEffect runs fn once and records its result. Replay returns the record. The function must be quick. It must not
// use the engine, else the turn fails. Use it for a value such as a reading of the configuration. Work that takes
// longer or can fail belongs in an activity. The engine may run fn again if the node is lost before the turn is stored.
func SideEffect[T any](ctx *Context, fn func() (T, error)) (T, error) {
	mustFunc(fn == nil, "SideEffect")
	scope := ctx.engine()
	var out T
	data, err := scope.SideEffect(func() ([]byte, *history.Failure) {
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
	if err != nil {
		return out, err
	}
	if err := payload.Decode(data, &out); err != nil {
		return out, newError(failure.ErrPayload, "value of a side effect: %v", err)
	}
	return out, nil
}
