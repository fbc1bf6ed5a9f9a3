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
	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/provider"
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
	return c.endActivity(ctx, doing, token, func(t *tasktoken.Token) history.Body {
		return &history.ActivityCompleted{Scheduled: t.Task.EventID, Output: data, Attempt: t.Attempt, Attempts: c.earlier(ctx, t)}
	})
}

// FailActivity ends an activity as CompleteActivity does, with an error. It ends the call for good: whoever ends
// an activity from outside has decided, and no retry policy is asked. Errors that are registered, see Options.Errors, are found
// by errors.Is and errors.As in the orchestration.
func FailActivity(ctx context.Context, c *Client, token string, err error) error {
	const doing = "failing an activity"
	if err == nil {
		return fmt.Errorf("%s: %w: there is no error: give one, or complete the activity", doing, ErrInvalid)
	}
	return c.endActivity(ctx, doing, token, func(t *tasktoken.Token) history.Body {
		return &history.ActivityFailed{Scheduled: t.Task.EventID, Failure: c.errors.Encode(err), Attempt: t.Attempt, Attempts: c.earlier(ctx, t)}
	})
}

// ReportCancelled ends an activity because HeartbeatActivity answered that its cancellation was asked for, and answers
// activity.ErrNotCancelled if it was not. All else is as with CompleteActivity.
func ReportCancelled(ctx context.Context, c *Client, token string) error {
	const doing = "reporting an activity as cancelled"
	err := c.beat(ctx, doing, token, nil)
	switch {
	case err == nil:
		return fmt.Errorf("%s: %w", doing, activity.ErrNotCancelled)
	case !errors.Is(err, activity.ErrCancelled):
		return err
	}
	return c.endActivity(ctx, doing, token, func(t *tasktoken.Token) history.Body {
		f := c.errors.Encode(failure.NonRetryable(failure.New(failure.ErrCancelled, "activity was cancelled")))
		return &history.ActivityFailed{Scheduled: t.Task.EventID, Failure: f, Attempt: t.Attempt, Attempts: c.earlier(ctx, t)}
	})
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
			return fmt.Errorf("%s: %w: details: %w: give what encoding/json can write", doing, ErrInvalid, err)
		}
		if len(data) > bind.MaxDetails {
			return fmt.Errorf("%s: %w: details have %d bytes: at most %d fit; store them elsewhere and report a reference",
				doing, ErrTooLarge, len(data), bind.MaxDetails)
		}
	}
	return c.beat(ctx, doing, token, data)
}

// endActivity reports the end of the activity that a token names.
func (c *Client) endActivity(ctx context.Context, doing, text string, body func(*tasktoken.Token) history.Body) error {
	t, err := c.token(ctx, doing, text)
	if err != nil {
		return err
	}
	b := body(&t)
	req := provider.ReportTasksRequest{Items: []provider.TaskReport{{
		TaskRef: t.Task, Token: t.Holder, Attempt: t.Attempt, Outcome: provider.TaskComplete,
		Message: provider.NewMessage{
			Kind: provider.MessageKind(b.Kind()), Execution: t.Task.Execution, EventID: t.Task.EventID,
			Payload: history.Encode(nil, history.Event{Body: b}),
		},
	}}}
	var state provider.ExecutionState
	doubtful, err := c.write(ctx, doing, func(ctx context.Context) error {
		res, err := c.store.ReportTasks(ctx, req)
		if err != nil && provider.OutcomeOf(err) != provider.OutcomeHappened {
			return err
		}
		if len(res.Items) == 1 {
			state, err = res.Items[0].State, res.Items[0].Err
		}
		return err
	})
	return doubt(c.explainTask(ctx, doing, &t, state, err), doubtful, "look at the instance; a repeat does no harm")
}

// beat renews what the token holds.
func (c *Client) beat(ctx context.Context, doing, text string, details []byte) error {
	t, err := c.token(ctx, doing, text)
	if err != nil {
		return err
	}
	req := provider.RenewTasksRequest{
		Lease: min(t.Lease, provider.MaxLease), Items: []provider.TaskRenewal{{TaskRef: t.Task, Token: t.Holder, Details: details}},
	}
	var item provider.TaskRenewalResult
	_, err = c.write(ctx, doing, func(ctx context.Context) error {
		res, err := c.store.RenewTasks(ctx, req)
		if err != nil {
			return err
		}
		item = res.Items[0] // the contract has one answer for each
		return item.Err
	})
	if err == nil && item.State.Kind == provider.ExecutionRunning && item.CancelRequested {
		return fmt.Errorf("%s: %w", doing, activity.ErrCancelled)
	}
	return c.explainTask(ctx, doing, &t, item.State, err)
}

// token reads a token of the caller.
func (c *Client) token(ctx context.Context, doing, text string) (tasktoken.Token, error) {
	if err := c.usable(ctx); err != nil {
		return tasktoken.Token{}, fmt.Errorf("%s: %w", doing, err)
	}
	t, err := tasktoken.Decode(text)
	if err != nil {
		return t, fmt.Errorf("%s: %w: %w", doing, ErrInvalid, err)
	}
	return t, nil
}

// explainTask says why a token ends nothing.
func (c *Client) explainTask(ctx context.Context, doing string, t *tasktoken.Token, state provider.ExecutionState, err error) error {
	switch {
	case err != nil && !errors.Is(err, provider.ErrLeaseLost):
		return explain(doing, 0, err)
	case state.Kind == provider.ExecutionMissing:
		return fmt.Errorf("%s: its orchestration: %w: it was deleted, or the token is of another store", doing, ErrNotFound)
	case state.Kind == provider.ExecutionTerminal:
		return fmt.Errorf("%s: its orchestration: %w (%s): nobody waits for the activity any more", doing, ErrEnded, state.Status)
	case err != nil:
		return fmt.Errorf("%s: %w", doing, c.howItEnded(ctx, doing, t))
	}
	return nil
}

// howItEnded finds out why a token does not hold its task, in a running execution.
func (c *Client) howItEnded(ctx context.Context, doing string, t *tasktoken.Token) error {
	var tasks []provider.TaskInfo
	err := c.read(ctx, doing, func(ctx context.Context) error {
		res, err := c.store.Get(ctx, provider.GetRequest{Key: t.Task.Key, WithTasks: true})
		tasks = res.Tasks
		return err
	})
	if err != nil {
		return err
	}
	for i := range tasks {
		if tasks[i].TaskRef != t.Task {
			continue
		}
		if r, err := history.DecodeRetried(tasks[i].Failure); err == nil && tasks[i].Attempt == t.Attempt+1 && timedOut(r.Failure) {
			return activity.ErrTimeout
		}
		return activity.ErrLeaseLost
	}
	return c.recorded(ctx, doing, t)
}

// recorded finds in the history how an activity ended that is no task any more. What is not there yet, or was never wanted, has ended all the same.
func (c *Client) recorded(ctx context.Context, doing string, t *tasktoken.Token) error {
	for from := t.Task.EventID; ; {
		var res provider.ReadHistoryResult
		err := c.read(ctx, doing, func(ctx context.Context) (err error) {
			res, err = c.store.ReadHistory(ctx, provider.ReadHistoryRequest{Key: t.Task.Key, Execution: t.Task.Execution, From: from})
			return err
		})
		if err != nil {
			return err
		}
		for _, stored := range res.Events {
			event, err := history.Decode(stored.ID, stored.Data)
			if failed, ok := event.Body.(*history.ActivityFailed); err == nil && ok && failed.Scheduled == t.Task.EventID && timedOut(failed.Failure) {
				return activity.ErrTimeout
			}
			from = stored.ID + 1
		}
		if !res.More || len(res.Events) == 0 {
			return activity.ErrAlreadyCompleted
		}
	}
}

// timedOut tells whether the engine ended an attempt because of its time.
func timedOut(f history.Failure) bool {
	return errors.Is((*failure.Set)(nil).Decode(f), failure.ErrTimeout)
}
