package client

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Terminate ends the instance that the ID names now, at once. See Handle.Terminate.
func (c *Client) Terminate(ctx context.Context, id, reason string) error {
	return c.terminate(ctx, access.Target{ID: id}, reason)
}

func (c *Client) terminate(ctx context.Context, t access.Target, reason string) error {
	op := fmt.Sprintf("terminating %s", t)
	if err := cmp.Or(c.usable(ctx), access.Reason(reason)); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := access.Act{Kind: string(ActTerminate), Op: op, On: t, Detail: reason}
	return c.caller.Perform(ctx, &a, func(ctx context.Context) error { return c.terminateNow(ctx, &a) })
}

func (c *Client) terminateNow(ctx context.Context, a *access.Act) error {
	op, reason := a.Op, a.Detail
	res, err := c.store.Instance(ctx, a.On, op, false)
	if err != nil {
		return err
	}
	a.On.Key = res.Instance.Key
	if res.Instance.Status.Ended() {
		return access.Explain(op, res.Instance.Status, ErrEnded)
	}
	req := terminateRequest(&res.Instance, reason, max(res.Now, res.Instance.UpdatedAt))
	doubtful, err := c.store.Write(ctx, op, func(ctx context.Context) error {
		_, err := c.store.Steer(ctx, req)
		if provider.OutcomeOf(err) == provider.OutcomeHappened {
			return nil
		}
		return err
	})
	if err != nil {
		return access.Doubt(access.Explain(op, 0, err), doubtful, "look at the instance's status")
	}
	c.terminated(&res.Instance, max(res.Now, res.Instance.UpdatedAt))
	return nil
}

// terminateRequest returns all that a termination stores: the event, the outcome, and the notices to parent and children.
// now is the storage's time.
func terminateRequest(i *provider.Instance, reason string, now provider.Time) provider.SteerRequest {
	stop := orchestration.ErrTerminated
	if reason != "" {
		stop = failure.New(orchestration.ErrTerminated, "terminated: %s", reason)
	}
	cause := (*failure.Set)(nil).Encode(stop)
	commit := uuid.New()
	req := provider.SteerRequest{
		Key: i.Key, Action: provider.SteerTerminate, Commit: provider.UUID(commit),
		Event:  history.Encode(nil, history.Event{At: int64(now), Body: &history.ExecutionTerminated{Reason: reason}}),
		Result: history.EncodeOutcome(history.Outcome{Failure: &cause}),
		ChildNotice: new(engine.Message(&history.CancelRequested{
			Reason: fmt.Sprintf("its parent %s was terminated", i.ID), RequestID: "terminate:" + commit.String(),
		}, 0, 0)),
	}
	if !i.Parent.Key.IsZero() {
		req.ParentNotice = new(engine.Message(&history.ChildFailed{Started: i.Parent.EventID, Failure: cause}, 0, 0))
	}
	return req
}
