package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/provider"
)

// A namedAttempt is the attempt of an activity that a token names. op describes the call for errors.
type namedAttempt struct {
	tasktoken.Token

	store *storage
	op    string
}

// attempt decodes a token of the caller.
func (c *Client) attempt(ctx context.Context, op, token string) (*namedAttempt, error) {
	if err := c.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	t, err := tasktoken.Decode(token)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", op, ErrInvalid, err)
	}
	return &namedAttempt{Token: t, store: c.store, op: op}, nil
}

// act returns the act of ending the activity.
func (a *namedAttempt) act(how string) access.Act {
	return access.Act{
		Kind: string(ActActivity), Op: a.op, On: access.Target{Key: a.Task.Key}, Detail: how,
		Other: fmt.Sprintf("activity %d, attempt %d", a.Task.EventID, a.Attempt),
	}
}

// fail ends the activity with a failure.
func (a *namedAttempt) fail(ctx context.Context, f history.Failure) error {
	return a.end(ctx, &history.ActivityFailed{Scheduled: a.Task.EventID, Failure: f, Attempt: a.Attempt, Attempts: a.earlier(ctx)})
}

// end reports the end of the activity.
func (a *namedAttempt) end(ctx context.Context, b history.Body) error {
	req := provider.ReportTasksRequest{Items: []provider.TaskReport{{
		TaskRef: a.Task, Token: a.Holder, Attempt: a.Attempt, Outcome: provider.TaskComplete,
		Message: provider.NewMessage{
			Kind: provider.MessageKind(b.Kind()), Execution: a.Task.Execution, EventID: a.Task.EventID,
			Payload: history.Encode(nil, history.Event{Body: b}),
		},
	}}}
	var state provider.ExecutionState
	doubtful, err := a.store.Write(ctx, a.op, func(ctx context.Context) error {
		res, err := a.store.ReportTasks(ctx, req)
		if err != nil && provider.OutcomeOf(err) != provider.OutcomeHappened {
			return err
		}
		if len(res.Items) == 1 {
			state, err = res.Items[0].State, res.Items[0].Err
		}
		return err
	})
	return access.Doubt(a.explain(ctx, state, err), doubtful, "look at the instance; a repeat does no harm")
}

// heartbeat renews the lease of the token, and stores details.
func (a *namedAttempt) heartbeat(ctx context.Context, details []byte) error {
	req := provider.RenewTasksRequest{
		Lease: min(a.Lease, provider.MaxLease), Items: []provider.TaskRenewal{{TaskRef: a.Task, Token: a.Holder, Details: details}},
	}
	var item provider.TaskRenewalResult
	_, err := a.store.Write(ctx, a.op, func(ctx context.Context) error {
		res, err := a.store.RenewTasks(ctx, req)
		if err != nil {
			return err
		}
		item = res.Items[0] // the contract has one result for each item
		return item.Err
	})
	if err == nil && item.State.Kind == provider.ExecutionRunning && item.CancelRequested {
		return fmt.Errorf("%s: %w", a.op, activity.ErrCancelled)
	}
	return a.explain(ctx, item.State, err)
}

// explain returns why a token ends nothing; nil if it has ended the activity.
func (a *namedAttempt) explain(ctx context.Context, state provider.ExecutionState, err error) error {
	switch {
	case err != nil && !errors.Is(err, provider.ErrLeaseLost):
		return access.Explain(a.op, 0, err)
	case state.Kind == provider.ExecutionMissing:
		return fmt.Errorf("%s: its orchestration: %w: it was deleted, or the token is of another store", a.op, ErrNotFound)
	case state.Kind == provider.ExecutionTerminal:
		return fmt.Errorf("%s: its orchestration: %w (%s): nobody waits for the activity any more", a.op, ErrEnded, state.Status)
	case err != nil:
		return fmt.Errorf("%s: %w", a.op, a.howItEnded(ctx))
	}
	return nil
}

// howItEnded returns why the token does not hold its task, in a running execution.
func (a *namedAttempt) howItEnded(ctx context.Context) error {
	res, err := access.Read(ctx, a.store.Store, a.op, a.store.Get, provider.GetRequest{Key: a.Task.Key, WithTasks: true})
	if err != nil {
		return err
	}
	for i := range res.Tasks {
		t := &res.Tasks[i]
		if t.TaskRef != a.Task {
			continue
		}
		if r, err := history.DecodeRetried(t.Failure); err == nil && t.Attempt == a.Attempt+1 && timedOut(r.Failure) {
			return activity.ErrTimeout
		}
		return activity.ErrLeaseLost
	}
	return a.recorded(ctx)
}

// recorded finds in the history how an activity ended that is no longer a task. An end that is not in the history yet, or
// was dropped, counts, too.
func (a *namedAttempt) recorded(ctx context.Context) error {
	for from := a.Task.EventID; ; {
		res, err := access.Read(ctx, a.store.Store, a.op, a.store.ReadHistory, provider.ReadHistoryRequest{Key: a.Task.Key, Execution: a.Task.Execution, From: from})
		if err != nil {
			return err
		}
		for _, stored := range res.Events {
			event, _, err := history.DecodeShown(stored.ID, stored.Data)
			if failed, ok := event.Body.(*history.ActivityFailed); err == nil && ok && failed.Scheduled == a.Task.EventID && timedOut(failed.Failure) {
				return activity.ErrTimeout
			}
			from = stored.ID + 1
		}
		if !res.More || len(res.Events) == 0 {
			return activity.ErrAlreadyCompleted
		}
	}
}

// earlier returns the attempts before this one. They are only shown to people: without them the activity ends as well.
func (a *namedAttempt) earlier(ctx context.Context) []history.Attempt {
	if a.Attempt < 2 {
		return nil
	}
	res, err := a.store.Get(ctx, provider.GetRequest{Key: a.Task.Key, WithTasks: true})
	if err != nil {
		return nil
	}
	for i := range res.Tasks {
		if res.Tasks[i].TaskRef == a.Task {
			r, _ := history.DecodeRetried(res.Tasks[i].Failure)
			return r.Attempts
		}
	}
	return nil
}

// timedOut reports whether the engine ended an attempt because of its time.
func timedOut(f history.Failure) bool {
	return errors.Is((*failure.Set)(nil).Decode(f), failure.ErrTimeout)
}
