package client

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// transactor returns the optional feature of the store that works inside transactions of the caller.
func (c *Client) transactor() (provider.Transactor, error) {
	t, ok := provider.As[provider.Transactor](c.store)
	if !ok {
		return nil, fmt.Errorf("%w: the store takes part in none", ErrForeignTx)
	}
	return t, nil
}

// createIn stores a start inside a transaction of the caller. It is asked once only: what failed may have
// ended the transaction, which is the caller's to repeat.
func (c *Client) createIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (provider.Instance, error) {
	t, err := c.transactor()
	if err != nil {
		return provider.Instance{}, err
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	res, err := t.CreateIn(ctx, tx, req)
	return res.Instance, err
}

// sendIn puts a message into an inbox inside a transaction of the caller, which may have started the
// instance itself.
func (c *Client) sendIn(ctx context.Context, tx provider.Tx, to target, doing string, body history.Body) error {
	t, err := c.transactor()
	if err == nil {
		err = checkTarget(to)
	}
	if err != nil {
		return explain(doing, 0, err)
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	req := provider.SendRequest{Key: to.key, Message: message(body)}
	if to.key.IsZero() {
		req.ID = to.id
	}
	_, err = t.SendIn(ctx, tx, req)
	if err != nil {
		return explain(doing, 0, err)
	}
	return nil
}

// checkTarget refuses an ID that no storage would take.
func checkTarget(t target) error {
	if !t.key.IsZero() {
		return nil
	}
	return checkName("instance ID", t.id)
}
