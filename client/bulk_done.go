package client

import (
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// wasDeleted takes an instance that is gone as one that the job has deleted. Nothing is left that could say otherwise.
func wasDeleted(_ context.Context, r *access.DoneRequest) (bool, error) { return r.Now == nil, nil }

// wasSteered asks the instance, which remembers the last acts.
func (c *Client) wasSteered(ctx context.Context, r *access.DoneRequest) (bool, error) {
	if r.Now == nil {
		return false, nil
	}
	_, err := c.store.Write(ctx, r.Act.Op, func(ctx context.Context) error {
		_, err := c.store.Steer(ctx, changeless(r.Now.Key, r.Act.RequestID)) // succeeds only as a repeat
		return err
	})
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return false, access.Explain(r.Act.Op, 0, err)
	}
	return false, nil // a refusal, such as that of an instance that was moved away
}

// wasSent looks for the message in the histories of the current execution and the one before.
func (c *Client) wasSent(ctx context.Context, r *access.DoneRequest) (bool, error) {
	if r.Now == nil {
		return false, nil
	}
	for execution := r.Now.Execution; execution > 0 && execution > r.Now.Execution-2; execution-- {
		found, err := c.received(ctx, r, execution)
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// received reports whether an execution has received the message of an act.
func (c *Client) received(ctx context.Context, r *access.DoneRequest, execution int64) (bool, error) {
	for from := int64(1); ; {
		res, err := access.Read(ctx, c.store.Store, r.Act.Op, c.store.ReadHistory, provider.ReadHistoryRequest{Key: r.Now.Key, Execution: execution, From: from})
		if errors.Is(err, provider.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, access.Explain(r.Act.Op, 0, err)
		}
		for _, stored := range res.Events {
			event, _, err := history.DecodeShown(stored.ID, stored.Data)
			if err != nil {
				return false, nil //nolint:nilerr // a newer release wrote it
			}
			if requestOf(event.Body) == r.Act.RequestID {
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
func (c *Client) wasRestarted(ctx context.Context, r *access.DoneRequest) (bool, error) {
	return c.isOf(ctx, r, "")
}

// wasForked looks for the new instance.
func (c *Client) wasForked(ctx context.Context, r *access.DoneRequest) (bool, error) {
	return c.isOf(ctx, r, r.Args.Prefix)
}

// isOf reports whether the act has started the instance whose ID is that of the planned one behind a prefix.
func (c *Client) isOf(ctx context.Context, r *access.DoneRequest, prefix string) (bool, error) {
	id := r.Planned.ID
	if r.Now != nil {
		id = r.Now.ID
	}
	if id == "" { // a plan of an older release
		return false, nil
	}
	res, err := c.store.Instance(ctx, access.Target{ID: prefix + id}, r.Act.Op, false)
	return err == nil && res.Instance.RequestID == r.Act.RequestID, err
}

// wasRedriven takes an instance that had dead letters before the act and has none now as one that the job has redriven.
func (c *Client) wasRedriven(ctx context.Context, r *access.DoneRequest) (bool, error) {
	if !r.Planned.Due || r.Now == nil {
		return false, nil
	}
	left, err := c.dueRedrive(ctx, r.Now.Key)
	return !left, err
}

// dueRedrive reports whether an instance has dead letters.
func (c *Client) dueRedrive(ctx context.Context, key provider.UUID) (bool, error) {
	deadLetters, err := c.store.ListDeadLetters(ctx, "looking for dead letters", provider.DeadLettersRequest{Key: key, Max: 1})
	return len(deadLetters) > 0, err
}

// wasRetried takes an instance as one that the job has retried if one of its planned attempts waits no more.
func (c *Client) wasRetried(ctx context.Context, r *access.DoneRequest) (bool, error) {
	if r.Now == nil {
		return false, nil
	}
	res, err := access.Read(ctx, c.store.Store, r.Act.Op, c.store.Get, provider.GetRequest{Key: r.Now.Key, WithTasks: true})
	if err != nil {
		return false, access.Explain(r.Act.Op, 0, err)
	}
	for _, planned := range r.Planned.Tasks {
		waits := func(t provider.TaskInfo) bool { return planned.Names(&t) && (t.NotBefore > res.Now) }
		if !slices.ContainsFunc(res.Tasks, waits) {
			return true, nil
		}
	}
	return false, nil
}
