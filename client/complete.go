package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
)

// CompleteActivity ends an activity that has returned activity.ErrPending or ErrParked, with its output. The token comes from
// activity.Token in that activity. Its orchestration may run on any node of the store. The output must be of the type that the
// activity would return. Only the first end of an activity counts.
//
// The error is ErrInvalid for an invalid token or an output that cannot be encoded. It is activity.ErrTimeout if the
// attempt took too long. It is activity.ErrLeaseLost if the token does not hold the activity, or no longer does because
// another attempt has begun. ErrEnded and ErrNotFound are about its orchestration. Other errors: ErrTooLarge,
// activity.ErrAlreadyCompleted, ErrOutcomeUnknown, ErrClosed.
func CompleteActivity[Out any](ctx context.Context, c *Client, token string, out Out) error {
	const op = "completing an activity"
	data, err := access.Encode("output", out)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a, err := c.attempt(ctx, op, token)
	if err != nil {
		return err
	}
	of := a.act("completed")
	return c.caller.Perform(ctx, &of, func(ctx context.Context) error {
		return a.end(ctx, &history.ActivityCompleted{Scheduled: a.Task.EventID, Output: data, Attempt: a.Attempt, Attempts: a.earlier(ctx)})
	})
}

// FailActivity ends an activity as CompleteActivity does, with an error. It ends the call for good: no retry policy applies to
// an end from outside. Registered errors, see Options.Errors, are found by errors.Is and errors.As in the orchestration.
func FailActivity(ctx context.Context, c *Client, token string, err error) error {
	const op = "failing an activity"
	if err == nil {
		return fmt.Errorf("%s: %w: there is no error: give one, or complete the activity", op, ErrInvalid)
	}
	a, unusable := c.attempt(ctx, op, token)
	if unusable != nil {
		return unusable
	}
	of := a.act("failed")
	return c.caller.Perform(ctx, &of, func(ctx context.Context) error { return a.fail(ctx, c.errors.Encode(err)) })
}

// ReportCancelled ends an activity after HeartbeatActivity has reported its cancellation. It returns activity.ErrNotCancelled
// if the activity was not cancelled. Otherwise it is like CompleteActivity.
func ReportCancelled(ctx context.Context, c *Client, token string) error {
	const op = "reporting an activity as cancelled"
	a, err := c.attempt(ctx, op, token)
	if err != nil {
		return err
	}
	of := a.act("cancelled")
	return c.caller.Perform(ctx, &of, func(ctx context.Context) error {
		err := a.heartbeat(ctx, nil)
		switch {
		case err == nil:
			return fmt.Errorf("%s: %w", op, activity.ErrNotCancelled)
		case !errors.Is(err, activity.ErrCancelled):
			return err
		}
		return a.fail(ctx, c.errors.Encode(failure.NonRetryable(failure.New(failure.ErrCancelled, "activity was cancelled"))))
	})
}

// HeartbeatActivity stores progress of an activity that ends later, as activity.Heartbeat does. nil details keep those that are
// stored. It returns activity.ErrCancelled if the activity should stop, and the errors of CompleteActivity if it can no longer
// be ended.
//
// The call renews the lease of an activity that holds its slot, and restarts its heartbeat timeout. As long as calls come, at
// least three within the heartbeat timeout, the activity is not run again although its node was lost. Each call is a write.
func HeartbeatActivity(ctx context.Context, c *Client, token string, details any) error {
	const op = "heartbeat of an activity"
	var data []byte
	if details != nil {
		var err error
		if data, err = payload.EncodeExact(details); err != nil {
			return fmt.Errorf("%s: %w: details: %w: give what encoding/json can write", op, ErrInvalid, failure.New(failure.ErrPayload, "%v", err))
		}
		if len(data) > bind.MaxDetails {
			return fmt.Errorf("%s: %w: details have %d bytes: at most %d fit; store them elsewhere and report a reference",
				op, ErrTooLarge, len(data), bind.MaxDetails)
		}
	}
	a, err := c.attempt(ctx, op, token)
	if err != nil {
		return err
	}
	if err := c.caller.May(&access.Act{Kind: string(ActActivity), Op: op}); err != nil {
		return err
	}
	return a.heartbeat(ctx, data)
}
