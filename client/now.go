package client

import (
	"context"
	"fmt"
	"time"
)

// Now returns the time by the storage's clock, in UTC. All times that a client shows are by that clock, so it says how long ago they were even
// where the clock of this process is wrong. Errors are an error that wraps errors.ErrUnsupported for a store that cannot list instances, or the
// error of ctx.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	if err := c.usable(ctx); err != nil {
		return time.Time{}, fmt.Errorf("reading the storage's clock: %w", err)
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return now.Std(), nil
}
