package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// DropMessage moves a waiting message of the instance that the ID names now to the dead letters. See Handle.DropMessage.
func (c *Client) DropMessage(ctx context.Context, id string, message int64, reason string) error {
	return c.dropMessage(ctx, access.Target{ID: id}, message, reason)
}

// DropMessage moves one message from the instance's inbox to the dead letters, for a message whose turn fails again and
// again. The text of a blocked instance names it: "message 17 (EventReceived)". The code never sees it, and everything
// behind it goes on. operate.Operator.DeadLetters lists it, and RedriveDeadLetter can put it back. The reason is for people, at most 4 KiB, and may be
// empty.
//
// An instance that waits for its next try keeps waiting; Unblock ends that. The result of an activity, timer or child can be dropped, too:
// the code then waits for it for ever, unless it gives it up. Errors are ErrInvalid for the start of an execution, ErrNotFound if the
// message does not wait there any more, and those of Raise.
func (h Handle[Out]) DropMessage(ctx context.Context, message int64, reason string) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	return h.c.dropMessage(ctx, h.t, message, reason)
}

func (c *Client) dropMessage(ctx context.Context, t access.Target, message int64, reason string) error {
	op := fmt.Sprintf("dropping message %d of %s", message, t)
	if err := cmp.Or(c.usable(ctx), access.Reason(reason)); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if message <= 0 {
		return fmt.Errorf("%s: %w: message numbers begin with 1; the text of a blocked instance has it", op, ErrInvalid)
	}
	a := access.Act{Kind: string(ActDropMessage), Op: op, On: t, Other: fmt.Sprintf("message %d", message), Detail: reason}
	return c.caller.Perform(ctx, &a, func(ctx context.Context) error { return c.dropNow(ctx, &a, message) })
}

func (c *Client) dropNow(ctx context.Context, a *access.Act, message int64) error {
	op := a.Op
	res, err := c.store.Instance(ctx, a.On, op, false)
	if err != nil {
		return err
	}
	a.On.Key = res.Instance.Key
	if res.Instance.Status.Ended() {
		return access.Explain(op, res.Instance.Status, ErrEnded)
	}
	if err := c.mayDrop(ctx, res.Instance.Key, message); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	req := provider.SteerRequest{
		Key: res.Instance.Key, Action: provider.SteerDrop, Commit: provider.UUID(uuid.New()), RequestID: a.RequestID,
		MessageID: message, Reason: cmp.Or(a.Detail, "dropped by a person"),
	}
	doubtful, err := c.store.Write(ctx, op, func(ctx context.Context) error {
		_, err := c.store.Steer(ctx, req)
		return err
	})
	if errors.Is(err, provider.ErrNotFound) {
		return fmt.Errorf("%s: it does not wait in the inbox: %w", op, ErrNotFound)
	}
	if err != nil {
		return access.Doubt(access.Explain(op, 0, err), doubtful, "list the dead letters")
	}
	return nil
}

// mayDrop refuses the start of an execution, if the store can show its inbox. Nothing else would make the code run.
func (c *Client) mayDrop(ctx context.Context, key provider.UUID, message int64) error {
	inspector, ok := provider.As[provider.Inspector](c.store.Provider)
	if !ok {
		return nil
	}
	ctx, cancel := c.store.Bound(ctx)
	defer cancel()
	req := provider.InspectRequest{Kind: provider.InspectMessages, Key: key}
	for {
		res, err := inspector.Inspect(ctx, req)
		if err != nil {
			return fmt.Errorf("looking at its inbox: %w", err)
		}
		for i := range res.Messages {
			kind := history.Kind(res.Messages[i].Kind)
			if res.Messages[i].ID == message && (kind == history.KindExecutionStarted || kind == history.KindExecutionOpened) {
				return fmt.Errorf("%w: the message is the start, without which the instance cannot go on; terminate the instance", ErrInvalid)
			}
		}
		if req.Cursor = res.Cursor; req.Cursor == "" {
			return nil
		}
	}
}
