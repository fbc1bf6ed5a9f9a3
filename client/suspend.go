package client

import (
	"cmp"
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// Suspend stops the instance that the ID names now until it is resumed. See Handle.Suspend.
func (c *Client) Suspend(ctx context.Context, id, reason string, opts ...ActOption) error {
	return c.suspend(ctx, access.Target{ID: id}, reason, opts)
}

// Resume lets a suspended instance go on. See Handle.Resume.
func (c *Client) Resume(ctx context.Context, id, reason string, opts ...ActOption) error {
	return c.resume(ctx, access.Target{ID: id}, reason, opts)
}

// Suspend stops the instance until it is resumed. Its code does not run, and no activity of it begins. Activities that run go on, and their
// results wait. So do events, timers that are due, updates and requests to cancel. Time limits of activities go on. A turn in flight is
// dropped and made again later. A suspended instance can be terminated, reset and moved. Its children go on; suspend them one by one.
//
// The history has no event of it. The reason is for people, at most 4 KiB, and may be empty: the audit has it, if the client has a
// principal. A suspended instance stays as it is. Errors are those of Raise.
func (h Handle[Out]) Suspend(ctx context.Context, reason string, opts ...ActOption) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	return h.c.suspend(ctx, h.t, reason, opts)
}

// Resume lets a suspended instance go on with all that waits. Any other instance that has not ended stays as it is. Errors are those of
// Raise.
func (h Handle[Out]) Resume(ctx context.Context, reason string, opts ...ActOption) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	return h.c.resume(ctx, h.t, reason, opts)
}

func (c *Client) suspend(ctx context.Context, t access.Target, reason string, opts []ActOption) error {
	a := access.Act{Kind: string(ActSuspend), Op: fmt.Sprintf("suspending %s", t), On: t, Detail: reason}
	return c.pause(ctx, &a, provider.SteerSuspend, provider.StatusSuspended, opts)
}

func (c *Client) resume(ctx context.Context, t access.Target, reason string, opts []ActOption) error {
	a := access.Act{Kind: string(ActResume), Op: fmt.Sprintf("resuming %s", t), On: t, Detail: reason}
	return c.pause(ctx, &a, provider.SteerResume, provider.StatusRunning, opts)
}

// pause suspends or resumes an instance, unless it has the wanted status.
func (c *Client) pause(ctx context.Context, a *access.Act, action provider.SteerAction, wanted provider.Status, opts []ActOption) error {
	err := cmp.Or(c.usable(ctx), access.Reason(a.Detail))
	var o actOptions
	if err == nil {
		o, err = actOptionsOf(opts)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.Op, err)
	}
	a.RequestID = o.requestID
	return c.caller.Perform(ctx, a, func(ctx context.Context) error {
		res, err := c.store.Instance(ctx, a.On, a.Op, false)
		if err != nil {
			return err
		}
		a.On.Key = res.Instance.Key
		switch status := res.Instance.Status; {
		case status.Ended():
			return access.Explain(a.Op, status, ErrEnded)
		case status == wanted:
			return nil
		}
		return c.steer(ctx, a.On, a.Op, provider.SteerRequest{Action: action, RequestID: a.RequestID})
	})
}
