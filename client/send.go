package client

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/observe"
)

// Raise puts an event into the mailbox of the instance that the ID names now. See Handle.Raise.
func (c *Client) Raise(ctx context.Context, id, event string, payload any, opts ...RaiseOption) error {
	return c.raise(ctx, access.Target{ID: id}, event, payload, opts)
}

// Cancel requests that the instance that the ID names now stop in its own way. See Handle.Cancel.
func (c *Client) Cancel(ctx context.Context, id, reason string, opts ...CancelOption) error {
	return c.cancel(ctx, access.Target{ID: id}, reason, opts)
}

func (c *Client) raise(ctx context.Context, t access.Target, event string, payload any, opts []RaiseOption) error {
	err := c.usable(ctx)
	if err == nil {
		err = access.Name("event name", event)
	}
	if err != nil {
		return fmt.Errorf("raising an event to %s: %w", t, err)
	}
	op := fmt.Sprintf("raising event %q to %s", event, t)
	o := raiseOptions{requestID: uuid.NewString()}
	if err := o.apply(opts); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	data, err := access.Encode("event", payload)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	stored, end := c.sending(ctx, observe.Sending{Kind: "event", Name: event, Instance: t.ID}, o.header, o.tx != nil)
	body := &history.EventReceived{Name: event, Payload: data, RequestID: o.requestID, Header: stored}
	a := access.Act{Kind: string(ActRaise), Op: op, On: t, Detail: event, RequestID: o.requestID, InTx: o.tx != nil, Input: &body.Payload}
	err = c.caller.Perform(ctx, &a, func(ctx context.Context) error {
		if o.tx != nil {
			return c.store.sendIn(ctx, *o.tx, t, op, body)
		}
		return c.store.send(ctx, &a.On, op, fmt.Sprintf("repeat it with client.WithRequestID(%q)", o.requestID), body)
	})
	end(err)
	return err
}

func (c *Client) cancel(ctx context.Context, t access.Target, reason string, opts []CancelOption) error {
	op := fmt.Sprintf("cancelling %s", t)
	if err := cmp.Or(c.usable(ctx), access.Reason(reason)); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	var given header.Map
	if err := applyCancel(&given, opts); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := access.Act{Kind: string(ActCancel), Op: op, On: t, Detail: reason, RequestID: uuid.NewString()}
	stored, end := c.sending(ctx, observe.Sending{Kind: "cancel", Instance: t.ID}, given, false)
	err := c.caller.Perform(ctx, &a, func(ctx context.Context) error {
		return c.store.send(ctx, &a.On, op, "repeat it, which does no harm", &history.CancelRequested{
			Reason: reason, RequestID: a.RequestID, Header: stored,
		})
	})
	end(err)
	return err
}

// send puts a message of code into an inbox: see access.Store.Post.
func (s *storage) send(ctx context.Context, to *access.Target, op, again string, body history.Body) error {
	return s.Post(ctx, to, op, again, engine.Message(body, 0, 0))
}
