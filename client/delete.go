package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// DeleteOption changes how Delete works.
type DeleteOption interface{ applyDelete(o *deleteOptions) }

type deleteOptions struct{ force bool }

type force struct{}

func (force) applyDelete(o *deleteOptions) { o.force = true }

// Force lets Delete remove an instance that is running, and those below it. Nothing is cleaned up, and activities that run are told to stop.
func Force() DeleteOption { return force{} }

// Delete removes the instance that the ID names now. See Handle.Delete.
func (c *Client) Delete(ctx context.Context, id string, opts ...DeleteOption) (int64, error) {
	return c.delete(ctx, access.Target{ID: id}, opts)
}

// Delete removes the instance for good, with its history, its dead letters and all children below it, and returns how many instances it
// removed. Its ID can then be used again: a start that is repeated late starts it anew. A parent that waits for the instance is told that it
// ended only if it was running.
//
// An instance that is running stays, unless Force is given: the error is ErrRunning, also if a child below it runs, which the text names if the
// instance itself has ended. Other errors are ErrInvalid, ErrNotFound, ErrForbidden or the error of ctx. After any error of the store or of ctx a
// part may be gone. The rest is hidden from nodes, and another call removes it.
func (h Handle[Out]) Delete(ctx context.Context, opts ...DeleteOption) (int64, error) {
	if err := h.usable(ctx); err != nil {
		return 0, err
	}
	return h.c.delete(ctx, h.t, opts)
}

func (c *Client) delete(ctx context.Context, t access.Target, opts []DeleteOption) (n int64, err error) {
	op := fmt.Sprintf("deleting %s", t)
	if err := c.usable(ctx); err != nil {
		return 0, fmt.Errorf("%s: %w", op, err)
	}
	var o deleteOptions
	for _, opt := range opts {
		if opt == nil {
			return 0, fmt.Errorf("%s: %w: an option is nil: leave it out", op, ErrInvalid)
		}
		opt.applyDelete(&o)
	}
	a := access.Act{Kind: string(ActDelete), Op: op, On: t}
	if o.force {
		a.Detail = "also while it runs"
	}
	err = c.caller.Perform(ctx, &a, func(ctx context.Context) error {
		n, err = c.deleteNow(ctx, &a, o)
		return err
	})
	return n, err
}

func (c *Client) deleteNow(ctx context.Context, a *access.Act, o deleteOptions) (int64, error) {
	t, _, err := c.store.Resolve(ctx, a.On, a.Op)
	if err != nil {
		return 0, err
	}
	a.On = t
	var res provider.DeleteResult
	tries := 0
	_, err = c.store.Write(ctx, a.Op, func(ctx context.Context) (err error) {
		tries++
		part, err := c.store.Delete(ctx, provider.DeleteRequest{Key: t.Key, Force: o.force})
		res.Instances += part.Instances
		return err
	})
	switch {
	case err == nil, tries > 1 && errors.Is(err, provider.ErrNotFound): // an earlier try removed it, and its result was lost
		return max(res.Instances, 1), nil
	case errors.Is(err, provider.ErrRunning):
		if child := c.runsBelow(ctx, a.Op, t.Key); child != "" {
			return res.Instances, fmt.Errorf("%s: %w: %s: wait for its end, terminate it first, or delete it with client.Force", a.Op, err, child)
		}
		return res.Instances, fmt.Errorf("%s: %w: wait for its end, terminate it first, or delete it with client.Force", a.Op, err)
	}
	return res.Instances, access.Explain(a.Op, 0, err)
}

// runsBelow names a child that runs of an instance that has ended, "" for none. A child runs on by the close policy of its call, or because it cleans up.
func (c *Client) runsBelow(ctx context.Context, op string, key provider.UUID) string {
	if _, ok := provider.As[provider.Lister](c.store.Provider); !ok {
		return ""
	}
	parent, err := access.Read(ctx, c.store.Store, op, c.store.Get, provider.GetRequest{Key: key})
	if err != nil || !parent.Instance.Status.Ended() {
		return ""
	}
	res, err := access.Read(ctx, c.store.Store, op, c.store.List, provider.ListRequest{
		Filter: provider.Filter{ParentKey: key, Statuses: []provider.Status{provider.StatusRunning, provider.StatusSuspended}, Replaced: true},
		Max:    1, Omit: []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
	})
	if err != nil || len(res.Instances) == 0 {
		return "" // the error says enough without
	}
	return fmt.Sprintf("its child %s as %q runs", res.Instances[0].Name, res.Instances[0].ID)
}
