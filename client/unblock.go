package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/provider"
)

// Unblock clears the Blocked flag of the instance that the ID names now. See Handle.Unblock.
func (c *Client) Unblock(ctx context.Context, id string) error {
	return c.unblock(ctx, target{id: id})
}

// Unblock clears the Blocked flag of the instance and its counts, so that its next turn begins at once. Mend the cause
// first. An instance that is held (Blocked without RetryAt) continues only after this call. For others it ends the
// delay. An instance that is not blocked stays as it is. Errors are those of Raise.
func (h Handle[Out]) Unblock(ctx context.Context) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	return h.c.unblock(ctx, h.t)
}

func (c *Client) unblock(ctx context.Context, t target) error {
	op := fmt.Sprintf("unblocking %s", t)
	if err := c.usable(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := act{kind: ActUnblock, op: op, on: t}
	return c.perform(ctx, &a, func(ctx context.Context) error { return c.unblockNow(ctx, &a) })
}

func (c *Client) unblockNow(ctx context.Context, a *act) error {
	op := a.op
	res, err := c.store.instance(ctx, a.on, op, false)
	if err != nil {
		return err
	}
	a.on.key = res.Instance.Key
	switch {
	case res.Instance.Status.Ended():
		return explain(op, res.Instance.Status, ErrEnded)
	case res.Instance.Blocked == nil:
		return nil
	}
	req := provider.SteerRequest{Key: res.Instance.Key, Action: provider.SteerUnblock, Commit: provider.UUID(uuid.New())}
	doubtful, err := c.store.write(ctx, op, func(ctx context.Context) error {
		_, err := c.store.Steer(ctx, req)
		return err
	})
	if err != nil {
		return doubt(explain(op, 0, err), doubtful, "look at the instance's status")
	}
	return nil
}
