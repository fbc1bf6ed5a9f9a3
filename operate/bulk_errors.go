package operate

import (
	"context"
	"errors"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/provider"
)

// repeats reports whether the step is repeated after an error of an act: the storage, or what the act needs, was out of reach, or nobody knows what
// happened. What perdure has refused would be refused for ever, and hold the job up.
func repeats(err error) bool {
	switch {
	case errors.Is(err, client.ErrUnserved): // it may never be served
		return false
	case passes(err):
		return true
	default:
		return client.Code(err) == "" && provider.Retryable(err)
	}
}

// passes reports whether an error is known to be of a state that ends: the storage, or what a call needs, is out of reach.
func passes(err error) bool {
	for _, out := range []error{context.DeadlineExceeded, client.ErrOutcomeUnknown, client.ErrOverloaded, client.ErrNotFinished, sealing.ErrCodec} {
		if errors.Is(err, out) {
			return true
		}
	}
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Retryable
}
