package bind

import (
	"context"
	"reflect"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
)

// ActivityFunc is an activity with its types erased: encoded input to encoded output.
type ActivityFunc func(ctx context.Context, input []byte) (output []byte, err error)

// Activity erases the types of an activity function. It is a non-retryable error if an input cannot be decoded or an
// output cannot be encoded.
func Activity[In, Out any](fn func(context.Context, In) (Out, error)) ActivityFunc {
	return func(ctx context.Context, input []byte) ([]byte, error) {
		var in In
		if err := payload.Decode(input, &in); err != nil {
			return nil, failure.NonRetryable(failure.New(failure.ErrPayload, "input: %v", err))
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return encodeOutput(out)
	}
}

// Method is Activity for a method value that reflection has found, whose type is that of an activity.
func Method(method reflect.Value) ActivityFunc {
	in := method.Type().In(1)
	return func(ctx context.Context, input []byte) ([]byte, error) {
		arg := reflect.New(in)
		if err := payload.Decode(input, arg.Interface()); err != nil {
			return nil, failure.NonRetryable(failure.New(failure.ErrPayload, "input: %v", err))
		}
		results := method.Call([]reflect.Value{reflect.ValueOf(ctx), arg.Elem()})
		if err, failed := reflect.TypeAssert[error](results[1]); failed {
			return nil, err
		}
		return encodeOutput(results[0].Interface())
	}
}

func encodeOutput(out any) ([]byte, error) {
	data, err := payload.EncodeExact(out)
	if err != nil {
		return nil, failure.NonRetryable(failure.New(failure.ErrPayload, "output: %v", err))
	}
	return data, nil
}
