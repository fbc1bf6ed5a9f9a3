package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
)

// CompleteActivity ends an activity that has returned activity.ErrPending or ErrParked, with its output. The token is what
// activity.Token answered to it; its orchestration may run on any node of the store. The output must be of
// the type that the activity would return. Only the first end of an activity counts.
//
// Errors: ErrInvalid for a text that is no token and for an output that cannot be encoded, ErrTooLarge;
// activity.ErrAlreadyCompleted, activity.ErrTimeout if the attempt took too long,
// activity.ErrLeaseLost if the token is not, or no longer, the one that holds the activity: another attempt has begun;
// ErrEnded and ErrNotFound for its orchestration; ErrOutcomeUnknown, ErrClosed.
func CompleteActivity[Out any](ctx context.Context, c *Client, token string, out Out) error {
	const doing = "completing an activity"
	data, err := encodePayload("output", out)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	a, err := c.attempt(ctx, doing, token)
	if err != nil {
		return err
	}
	return a.end(ctx, &history.ActivityCompleted{Scheduled: a.Task.EventID, Output: data, Attempt: a.Attempt, Attempts: a.earlier(ctx)})
}

// FailActivity ends an activity as CompleteActivity does, with an error. It ends the call for good: whoever ends
// an activity from outside has decided, and no retry policy is asked. Errors that are registered, see Options.Errors, are found
// by errors.Is and errors.As in the orchestration.
func FailActivity(ctx context.Context, c *Client, token string, err error) error {
	const doing = "failing an activity"
	if err == nil {
		return fmt.Errorf("%s: %w: there is no error: give one, or complete the activity", doing, ErrInvalid)
	}
	a, unusable := c.attempt(ctx, doing, token)
	if unusable != nil {
		return unusable
	}
	return a.fail(ctx, c.errors.Encode(err))
}

// ReportCancelled ends an activity because HeartbeatActivity answered that its cancellation was asked for, and answers
// activity.ErrNotCancelled if it was not. All else is as with CompleteActivity.
func ReportCancelled(ctx context.Context, c *Client, token string) error {
	const doing = "reporting an activity as cancelled"
	a, err := c.attempt(ctx, doing, token)
	if err == nil {
		err = a.beat(ctx, nil)
	}
	switch {
	case err == nil:
		return fmt.Errorf("%s: %w", doing, activity.ErrNotCancelled)
	case !errors.Is(err, activity.ErrCancelled):
		return err
	}
	return a.fail(ctx, c.errors.Encode(failure.NonRetryable(failure.New(failure.ErrCancelled, "activity was cancelled"))))
}

// HeartbeatActivity stores progress of an activity that ends later, as activity.Heartbeat does. nil keeps
// what is stored. It answers activity.ErrCancelled if the activity should stop, and what CompleteActivity answers if it cannot be ended any more.
// The lease of an activity that holds its slot is renewed, as its node does: whoever goes on calling keeps it from being run again
// should the node be lost, and from its heartbeat timeout: call three times within that. Each call is a write.
func HeartbeatActivity(ctx context.Context, c *Client, token string, details any) error {
	const doing = "heartbeat of an activity"
	var data []byte
	if details != nil {
		var err error
		if data, err = payload.Encode(details); err != nil {
			return fmt.Errorf("%s: %w: details: %w: give what encoding/json can write", doing, ErrInvalid, failure.New(failure.ErrPayload, "%v", err))
		}
		if len(data) > bind.MaxDetails {
			return fmt.Errorf("%s: %w: details have %d bytes: at most %d fit; store them elsewhere and report a reference",
				doing, ErrTooLarge, len(data), bind.MaxDetails)
		}
	}
	a, err := c.attempt(ctx, doing, token)
	if err != nil {
		return err
	}
	return a.beat(ctx, data)
}
