package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// Unblock clears the Blocked flag of the instance that the ID names now. See Handle.Unblock.
func (c *Client) Unblock(ctx context.Context, id string) error {
	return c.unblock(ctx, access.Target{ID: id})
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

func (c *Client) unblock(ctx context.Context, t access.Target) error {
	op := fmt.Sprintf("unblocking %s", t)
	if err := c.usable(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := access.Act{Kind: string(ActUnblock), Op: op, On: t}
	return c.caller.Perform(ctx, &a, func(ctx context.Context) error { return c.unblockNow(ctx, &a) })
}

func (c *Client) unblockNow(ctx context.Context, a *access.Act) error {
	op := a.Op
	res, err := c.store.Instance(ctx, a.On, op, false)
	if err != nil {
		return err
	}
	a.On.Key = res.Instance.Key
	switch {
	case res.Instance.Status.Ended():
		return access.Explain(op, res.Instance.Status, ErrEnded)
	case res.Instance.Blocked == nil:
		return nil
	}
	req := provider.SteerRequest{Key: res.Instance.Key, Action: provider.SteerUnblock, Commit: provider.UUID(uuid.New())}
	doubtful, err := c.store.Write(ctx, op, func(ctx context.Context) error {
		_, err := c.store.Steer(ctx, req)
		return err
	})
	if err != nil {
		return access.Doubt(access.Explain(op, 0, err), doubtful, "look at the instance's status")
	}
	return nil
}
