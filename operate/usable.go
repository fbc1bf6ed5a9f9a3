package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
)

var errNoClient = errors.New("there is no client: make one with client.New and give it to operate.New")

// usable refuses a zero Operator and a nil context.
func (o *Operator) usable(ctx context.Context) error {
	if o == nil || o.caller == nil {
		return fmt.Errorf("%w: %w", client.ErrInvalid, errNoClient)
	}
	return access.Invalid(check.Context(ctx))
}

// ofService refuses what only the service itself may do.
func (o *Operator) ofService(ctx context.Context, op string) error {
	if err := o.usable(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return o.caller.OfService(op)
}
