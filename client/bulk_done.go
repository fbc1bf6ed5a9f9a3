package client

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// A doneRequest asks whether a lost attempt of a step has acted on an instance.
type doneRequest struct {
	act     *access.Act
	planned bulk.Planned
	now     *provider.Instance // nil: it is gone
	args    *bulk.Args
}

// wasDeleted takes an instance that is gone as one that the job has deleted. Nothing is left that could say otherwise.
func wasDeleted(_ context.Context, _ *Client, r *doneRequest) (bool, error) { return r.now == nil, nil }

// wasSteered asks the instance, which remembers the last acts.
func wasSteered(ctx context.Context, c *Client, r *doneRequest) (bool, error) {
	if r.now == nil {
		return false, nil
	}
	_, err := c.store.Write(ctx, r.act.Op, func(ctx context.Context) error {
		_, err := c.store.Steer(ctx, changeless(r.now.Key, r.act.RequestID)) // succeeds only as a repeat
		return err
	})
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return false, access.Explain(r.act.Op, 0, err)
	}
	return false, nil // a refusal, such as that of an instance that was moved away
}

// wasSent looks for the message in the histories of the current execution and the one before.
func wasSent(ctx context.Context, c *Client, r *doneRequest) (bool, error) {
	if r.now == nil {
		return false, nil
	}
	for execution := r.now.Execution; execution > 0 && execution > r.now.Execution-2; execution-- {
		found, err := c.received(ctx, r, execution)
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// received reports whether an execution has received the message of an act.
func (c *Client) received(ctx context.Context, r *doneRequest, execution int64) (bool, error) {
	for from := int64(1); ; {
		res, err := access.Read(ctx, c.store.Store, r.act.Op, c.store.ReadHistory, provider.ReadHistoryRequest{Key: r.now.Key, Execution: execution, From: from})
		if errors.Is(err, provider.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, access.Explain(r.act.Op, 0, err)
		}
		for _, stored := range res.Events {
			event, err := history.Decode(stored.ID, stored.Data)
			if err != nil {
				return false, nil //nolint:nilerr // a newer release wrote it
			}
			if requestOf(event.Body) == r.act.RequestID {
				return true, nil
			}
			from = stored.ID + 1
		}
		if !res.More || len(res.Events) == 0 {
			return false, nil
		}
	}
}

// requestOf returns the request ID of a message that a client has sent, and "" for any other event.
func requestOf(b history.Body) string {
	switch b := b.(type) {
	case *history.EventReceived:
		return b.RequestID
	case *history.CancelRequested:
		return b.RequestID
	}
	return ""
}

// wasRestarted looks for the new instance.
func wasRestarted(ctx context.Context, c *Client, r *doneRequest) (bool, error) {
	return r.isOf(ctx, c, "")
}

// wasForked looks for the new instance.
func wasForked(ctx context.Context, c *Client, r *doneRequest) (bool, error) {
	return r.isOf(ctx, c, r.args.Prefix)
}

// isOf reports whether the act has started the instance whose ID is that of the planned one behind a prefix.
func (r *doneRequest) isOf(ctx context.Context, c *Client, prefix string) (bool, error) {
	id := r.planned.ID
	if r.now != nil {
		id = r.now.ID
	}
	if id == "" { // a plan of an older release
		return false, nil
	}
	res, err := c.store.Instance(ctx, access.Target{ID: prefix + id}, r.act.Op, false)
	return err == nil && res.Instance.RequestID == r.act.RequestID, err
}

// wasRedriven takes an instance that had dead letters before the act and has none now as one that the job has redriven.
func wasRedriven(ctx context.Context, c *Client, r *doneRequest) (bool, error) {
	if !r.planned.Due || r.now == nil {
		return false, nil
	}
	left, err := dueRedrive(ctx, c, r.now.Key)
	return !left, err
}

// dueRedrive reports whether an instance has dead letters.
func dueRedrive(ctx context.Context, c *Client, key provider.UUID) (bool, error) {
	deadLetters, err := c.store.deadLetters(ctx, "looking for dead letters", provider.DeadLettersRequest{Key: key, Max: 1})
	return len(deadLetters) > 0, err
}
