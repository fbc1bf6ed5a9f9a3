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
	client *client.Client
	caller *access.Caller // that of client; nil in a zero Operator
}

// New returns the operator of a client. It works on the store of the client, in the name of the client's principal (see
// client.Client.As), and with its options. It does not touch the store. The methods of an operator without a client return
// client.ErrInvalid.
func New(c *client.Client) *Operator { return &Operator{client: c, caller: access.CallerOf(c)} }

var errNoClient = errors.New("there is no client: make one with client.New and give it to operate.New")

// usable refuses a zero Operator and a nil context.
func (o *Operator) usable(ctx context.Context) error {
	if o == nil || o.caller == nil {
		return fmt.Errorf("%w: %w", client.ErrInvalid, errNoClient)
	}
	return access.Invalid(check.Context(ctx))
}
