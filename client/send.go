package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// Raise puts an event into the mailbox of the instance that the ID names now. See Handle.Raise.
func (c *Client) Raise(ctx context.Context, id, event string, payload any, opts ...RaiseOption) error {
	return c.raise(ctx, target{id: id}, event, payload, opts)
}

// Cancel requests that the instance that the ID names now stop in its own way. See Handle.Cancel.
func (c *Client) Cancel(ctx context.Context, id, reason string, opts ...CancelOption) error {
	return c.cancel(ctx, target{id: id}, reason, opts)
}

func (c *Client) raise(ctx context.Context, t target, event string, payload any, opts []RaiseOption) error {
	err := c.usable(ctx)
	if err == nil {
		err = checkName("event name", event)
	}
	if err != nil {
		return fmt.Errorf("raising an event to %s: %w", t, err)
	}
	op := fmt.Sprintf("raising event %q to %s", event, t)
	o := raiseOptions{requestID: uuid.NewString()}
	if err := o.apply(opts); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	data, err := encodePayload("event", payload)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	stored, end := c.sending(ctx, observe.Sending{Kind: "event", Name: event, Instance: t.id}, o.header, o.tx != nil)
	body := &history.EventReceived{Name: event, Payload: data, RequestID: o.requestID, Header: stored}
	a := act{kind: ActRaise, op: op, on: t, detail: event, requestID: o.requestID, inTx: o.tx != nil}
	err = c.perform(ctx, &a, func(ctx context.Context) error {
		if o.tx != nil {
			return c.store.sendIn(ctx, *o.tx, t, op, body)
		}
		return c.store.send(ctx, &a.on, op, fmt.Sprintf("repeat it with client.WithRequestID(%q)", o.requestID), body)
	})
	end(err)
	return err
}

func (c *Client) cancel(ctx context.Context, t target, reason string, opts []CancelOption) error {
	op := fmt.Sprintf("cancelling %s", t)
	if err := cmp.Or(c.usable(ctx), checkReason(reason)); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	var given header.Map
	if err := applyCancel(&given, opts); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := act{kind: ActCancel, op: op, on: t, detail: reason, requestID: uuid.NewString()}
	stored, end := c.sending(ctx, observe.Sending{Kind: "cancel", Instance: t.id}, given, false)
	err := c.perform(ctx, &a, func(ctx context.Context) error {
		return c.store.send(ctx, &a.on, op, "repeat it, which does no harm", &history.CancelRequested{
			Reason: reason, RequestID: a.requestID, Header: stored,
		})
	})
	end(err)
	return err
}

// send puts a message into an inbox. The orchestration drops a message that repeats a request ID.
// again says how a caller may make sure of an unknown outcome. The target gets the key that its ID names.
func (s *storage) send(ctx context.Context, to *target, op, again string, body history.Body) error {
	t, status, err := s.resolve(ctx, *to, op)
	if err != nil {
		return err
	}
	*to = t
	if status.Ended() {
		return explain(op, status, ErrEnded)
	}
	req := provider.SendRequest{Key: t.key, Message: message(body)}
	doubtful, err := s.write(ctx, op, func(ctx context.Context) error {
		_, err := s.Send(ctx, req)
		if provider.OutcomeOf(err) == provider.OutcomeHappened {
			return nil
		}
		return err
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrEnded) {
		// How it ended is worth a call, but no failure of its own.
		if res, lost := s.instance(ctx, t, op, false); lost == nil {
			status = res.Instance.Status
		}
	}
	return doubt(explain(op, status, err), doubtful, again)
}
