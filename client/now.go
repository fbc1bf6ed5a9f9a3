package client

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// Now returns the time by the storage's clock, in UTC. All times that a client shows are by that clock, so it says how long ago they were even
// where the clock of this process is wrong. Errors are an error that wraps errors.ErrUnsupported for a store that cannot list instances, or the
// error of ctx.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	const op = "reading the storage's clock"
	if err := c.usable(ctx); err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", op, err)
	}
	res, err := access.Read(ctx, c.store.Store, op, c.store.List, provider.ListRequest{Max: 1, Filter: provider.Filter{Replaced: true}})
	if err != nil {
		return time.Time{}, access.Explain(op, 0, err)
	}
	return res.Now.Std(), nil
}
