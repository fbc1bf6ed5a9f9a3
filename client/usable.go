package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
)

var errNoClient = errors.New("there is no client: make one with client.New")

// usable refuses a nil or zero Client and a nil context.
func (c *Client) usable(ctx context.Context) error {
	if c == nil || c.store == nil {
		return fmt.Errorf("%w: %w", ErrInvalid, errNoClient)
	}
	return access.Invalid(check.Context(ctx))
}
