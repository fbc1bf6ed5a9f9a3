package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// ActivityRef names a pending activity as a Description has shown it. An act on it is refused with ErrConflict if another attempt is pending by
// now, or the activity is in another state. So a page that is out of date changes nothing.
type ActivityRef struct {
	Execution int64         `json:"execution"` // of the instance
	EventID   int64         `json:"eventId"`   // of the event that scheduled it
	Attempt   int64         `json:"attempt"`
	State     ActivityState `json:"state,omitempty"` // "": any
}

// Ref returns the reference of one of the pending activities.
func (d *Description) Ref(a *Activity) ActivityRef {
	return ActivityRef{Execution: d.Execution, EventID: a.EventID, Attempt: a.Attempt, State: a.State}
}

// PendingActivity is a pending activity of an instance, to act on. It is a plain value, and names the instance by its key.
//
// An act takes the activity away from the node that runs it, if one does. The code there learns it with the next renewal of the lease, after a
// third of runtime.Options.Lease at the latest: its context ends with activity.ErrLeaseLost. Its result is dropped. An act under way on the
// outside cannot be undone.
//
// Errors of all acts: ErrConflict if the activity has changed since it was shown; ErrNotFound if it is not pending any more; ErrInvalid;
// errors.ErrUnsupported of a store without provider.TaskSteerer; ErrOutcomeUnknown; or the error of ctx. Reasons are for people, at most 4
// KiB, and may be empty: the audit has them.
type PendingActivity struct {
	c   *Client
	t   access.Target
	ref ActivityRef
}

// Activity returns a pending activity of the instance, to act on. Nothing is read.
func (h Handle[Out]) Activity(ref ActivityRef) PendingActivity {
	return PendingActivity{c: h.c, t: h.t, ref: ref}
}

// Retry begins the next attempt at once: of an activity that waits for it, that is paused, that runs or that is parked. The attempt that is
// given up counts.
func (p PendingActivity) Retry(ctx context.Context, reason string) error {
	return p.act(ctx, "retrying", reason, provider.SteerTaskRequest{Action: provider.SteerTaskRetry})
}

// Pause keeps the activity from running until Resume or Retry. An attempt that runs is given up, and counts. The limits of the call go on, such
// as schedule-to-close. An activity whose cancellation was requested is not paused, but ends.
func (p PendingActivity) Pause(ctx context.Context, reason string) error {
	return p.act(ctx, "pausing", reason, provider.SteerTaskRequest{Action: provider.SteerTaskHold})
}

// Resume lets a paused activity run at once. Any other activity stays as it is.
func (p PendingActivity) Resume(ctx context.Context, reason string) error {
	return p.act(ctx, "resuming", reason, provider.SteerTaskRequest{Action: provider.SteerTaskRelease})
}

// Complete ends the activity with an output in place of its code. The output must be of the type that the activity would return. It is stored as
// JSON, at most 2 MiB.
func (p PendingActivity) Complete(ctx context.Context, output any, reason string) error {
	data, err := access.Encode("output", output)
	if err != nil {
		return fmt.Errorf("completing %s: %w", p, err)
	}
	return p.end(ctx, "completing", reason, func(attempt int64, earlier []history.Attempt) history.Body {
		return &history.ActivityCompleted{Scheduled: p.ref.EventID, Output: data, Attempt: attempt, Attempts: earlier}
	})
}

// Fail ends the activity with an error in place of its code. It ends the call for good: no retry policy applies. Registered errors, see
// Options.Errors, are found by errors.Is and errors.As in the orchestration.
func (p PendingActivity) Fail(ctx context.Context, failed error, reason string) error {
	if failed == nil {
		return fmt.Errorf("failing %s: %w: there is no error: give one, or complete the activity", p, ErrInvalid)
	}
	if err := p.c.usable(ctx); err != nil {
		return fmt.Errorf("failing %s: %w", p, err)
	}
	f := p.c.errors.Encode(failed)
	return p.end(ctx, "failing", reason, func(attempt int64, earlier []history.Attempt) history.Body {
		return &history.ActivityFailed{Scheduled: p.ref.EventID, Failure: f, Attempt: attempt, Attempts: earlier}
	})
}

// String names the activity in errors.
func (p PendingActivity) String() string { return fmt.Sprintf("activity %d of %s", p.ref.EventID, p.t) }

// end ends the activity with the message that body returns for the number of its attempt and those before.
func (p PendingActivity) end(ctx context.Context, verb, reason string, body func(attempt int64, earlier []history.Attempt) history.Body) error {
	if err := p.check(ctx, reason); err != nil {
		return fmt.Errorf("%s %s: %w", verb, p, err)
	}
	attempt, earlier := p.attempts(ctx)
	b := body(attempt, earlier)
	return p.act(ctx, verb, reason, provider.SteerTaskRequest{Action: provider.SteerTaskComplete, Message: provider.NewMessage{
		Kind: provider.MessageKind(b.Kind()), Execution: p.ref.Execution, EventID: p.ref.EventID, Payload: history.Encode(nil, history.Event{Body: b}),
	}})
}

// attempts returns the number of the attempt as the history counts, and the attempts before it. They are only shown to people: without them
// the activity ends as well.
func (p PendingActivity) attempts(ctx context.Context) (number int64, earlier []history.Attempt) {
	number = p.ref.Attempt
	ctx, cancel := p.c.store.Bound(ctx)
	defer cancel()
	req := provider.ReadHistoryRequest{Key: p.t.Key, Execution: p.ref.Execution, From: p.ref.EventID, To: p.ref.EventID}
	if res, err := p.c.store.ReadHistory(ctx, req); err == nil && len(res.Events) == 1 {
		event, _, _ := history.DecodeShown(res.Events[0].ID, res.Events[0].Data)
		if call, ok := event.Body.(*history.ActivityScheduled); ok {
			number += call.Attempts // made inside a turn
		}
	}
	if t, _, err := p.task(ctx); err == nil && t != nil {
		r, _ := history.DecodeRetried(t.Failure)
		earlier = r.Attempts
	}
	return number, earlier
}

// task reads the task of the activity. It is nil if none is pending.
func (p PendingActivity) task(ctx context.Context) (*provider.TaskInfo, *provider.Instance, error) {
	res, err := p.c.store.Get(ctx, provider.GetRequest{Key: p.t.Key, WithTasks: true})
	if err != nil {
		return nil, nil, err
	}
	for i := range res.Tasks {
		if res.Tasks[i].TaskRef == p.taskRef() {
			return &res.Tasks[i], &res.Instance, nil
		}
	}
	return nil, &res.Instance, nil
}

func (p PendingActivity) taskRef() provider.TaskRef {
	return provider.TaskRef{Key: p.t.Key, Execution: p.ref.Execution, EventID: p.ref.EventID}
}

// check refuses what no act can be about.
func (p PendingActivity) check(ctx context.Context, reason string) error {
	if p.t.Key.IsZero() {
		return fmt.Errorf("%w: %w", ErrInvalid, errNoInstance)
	}
	if err := p.c.usable(ctx); err != nil {
		return err
	}
	if err := access.Reason(reason); err != nil {
		return err
	}
	if p.ref.Execution < 1 || p.ref.EventID < 1 || p.ref.Attempt < 1 {
		return fmt.Errorf("%w: execution %d, event %d, attempt %d: numbers begin with 1; take them from a Description",
			ErrInvalid, p.ref.Execution, p.ref.EventID, p.ref.Attempt)
	}
	if _, known := taskStates[p.ref.State]; !known {
		return fmt.Errorf("%w: there is no state %q of activities: give one of the ActivityState constants, or \"\" for any", ErrInvalid, p.ref.State)
	}
	return nil
}

// taskStates has the state of the storage for each state that is shown.
//
//nolint:gochecknoglobals // constant table
var taskStates = map[ActivityState]provider.TaskState{
	"": 0, ActivityQueued: provider.TaskQueued, ActivityPaused: provider.TaskQueued, ActivityRunning: provider.TaskLeased, ActivityParked: provider.TaskParked,
}

// act acts on the task.
func (p PendingActivity) act(ctx context.Context, verb, reason string, req provider.SteerTaskRequest) error {
	a := access.Act{
		Kind: string(ActActivity), Op: fmt.Sprintf("%s %s", verb, p), On: p.t,
		Detail: fmt.Sprintf("%s event %d, attempt %d", verb, p.ref.EventID, p.ref.Attempt),
	}
	if err := p.check(ctx, reason); err != nil {
		return fmt.Errorf("%s: %w", a.Op, err)
	}
	if reason != "" {
		a.Detail += ": " + reason
	}
	return p.c.caller.Perform(ctx, &a, func(ctx context.Context) error { return p.steer(ctx, a.Op, req) })
}

// steer sends an act on the task.
func (p PendingActivity) steer(ctx context.Context, op string, req provider.SteerTaskRequest) error {
	req.TaskRef, req.Attempt, req.State = p.taskRef(), p.ref.Attempt, taskStates[p.ref.State]
	doubtful, err := p.c.store.Write(ctx, op, func(ctx context.Context) error {
		_, err := p.c.store.SteerTask(ctx, req)
		if provider.OutcomeOf(err) == provider.OutcomeHappened {
			return nil
		}
		return err
	})
	return access.Doubt(p.explain(ctx, op, err), doubtful, "look at the activity; a repeat changes nothing if it was stored")
}

// explain says what a refused act has met.
func (p PendingActivity) explain(ctx context.Context, op string, err error) error {
	stale, gone := errors.Is(err, provider.ErrConflict), errors.Is(err, provider.ErrNotFound)
	if err == nil || !stale && !gone {
		if err != nil {
			err = access.Explain(op, 0, err)
		}
		return err
	}
	ctx, cancel := p.c.store.Bound(ctx)
	defer cancel()
	t, i, lost := p.task(ctx)
	switch {
	case errors.Is(lost, provider.ErrNotFound):
		return fmt.Errorf("%s: its instance: %w: it never existed or was deleted", op, ErrNotFound)
	case stale && t != nil:
		shown := describeActivity(t)
		return fmt.Errorf("%s: %w: attempt %d is pending and %s, and attempt %d was named%s; look at it again",
			op, ErrConflict, shown.Attempt, shown.State, p.ref.Attempt, named(p.ref.State))
	case stale:
		return fmt.Errorf("%s: %w: it has changed since it was shown; look at it again", op, ErrConflict)
	case i != nil && i.Status.Ended():
		return fmt.Errorf("%s: %w: its instance has ended (%s)", op, ErrNotFound, i.Status)
	case i != nil && i.Execution < p.ref.Execution:
		return fmt.Errorf("%s: %w: there is no execution %d yet, %d is the current one", op, ErrNotFound, p.ref.Execution, i.Execution)
	case i != nil && i.Execution != p.ref.Execution:
		return fmt.Errorf("%s: %w: execution %d is over, %d is the current one", op, ErrNotFound, p.ref.Execution, i.Execution)
	default:
		return fmt.Errorf("%s: %w: it is not pending any more; the history has how it ended", op, ErrNotFound)
	}
}

// named returns the state that an act named, for errors.
func named(s ActivityState) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf(" as %s", s)
}
