package client

import "context"

// allowed returns the level that the store allows. A start inside a transaction of the caller reads nothing: the caller
// may hold the only connection.
func (c *Client) allowed(ctx context.Context, inTx bool) int64 {
	if inTx {
		return c.level.Allowed()
	}
	ctx, cancel := c.store.Bound(ctx)
	defer cancel()
	return c.level.Current(ctx)
}
