package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
)

// Operator operates what runs on a store. Make it with [New]. Many goroutines may use it at once. It starts none itself and need
// not be closed.
type Operator struct {
	ownSteps // of perdure's own activities

	client *client.Client
	caller *access.Caller // that of client; nil in a zero Operator
}

// New returns the operator of a client. It works on the store of the client, in the name of the client's principal (see
// client.Client.As), and with its options. It does not touch the store. The methods of an operator of nil return client.ErrInvalid.
func New(c *client.Client) *Operator {
	o := &Operator{client: c, caller: access.CallerOf(c)}
	o.ownSteps = access.StepsOf(retentionStepOf(o))
	return o
}

type ownSteps = access.Steps

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
	if p := o.caller.Principal; p != nil {
		return fmt.Errorf("%s: %w: the client acts for %s already: use the client that client.New has made", op, client.ErrForbidden, check.Quote(p.Name))
	}
	return nil
}
