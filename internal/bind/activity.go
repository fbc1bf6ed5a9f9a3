package bind

import (
	"context"

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
		data, err := payload.EncodeExact(out)
		if err != nil {
			return nil, failure.NonRetryable(failure.New(failure.ErrPayload, "output: %v", err))
		}
		return data, nil
	}
}
