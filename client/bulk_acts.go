package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// bulkActs is access.Caller.BulkActs.
func (c *Client) bulkActs() map[string]access.BulkAct {
	return map[string]access.BulkAct{
		string(ActCancel):    {Do: c.bulkCancel, WasDone: c.wasSent},
		string(ActTerminate): {Do: c.bulkTerminate, WasDone: c.wasSteered},
		string(ActSuspend):   {Do: c.bulkSteer(provider.SteerSuspend), WasDone: c.wasSteered},
		string(ActResume):    {Do: c.bulkSteer(provider.SteerResume), WasDone: c.wasSteered},
		string(ActUnblock):   {Do: c.bulkSteer(provider.SteerUnblock), WasDone: c.wasSteered},
		string(ActRaise):     {Check: checkBulkRaise, Do: c.bulkRaise, WasDone: c.wasSent},
		string(ActRestart):   {Do: c.bulkRestart, WasDone: c.wasRestarted, Named: true},
		string(ActReset):     {Check: checkBulkReset, Do: c.bulkReset, WasDone: c.wasSteered, Point: c.bulkPoint},
		string(ActFork):      {Check: checkBulkFork, Do: c.bulkFork, WasDone: c.wasForked, Named: true, Point: c.bulkPoint},
		string(ActMove):      {Check: checkBulkMove, Do: c.bulkMove, WasDone: c.wasSteered},
		string(ActRetryNow):  {Tasks: &access.BulkTasks{Wants: bulk.Delayed, Do: c.bulkRetryNow}, WasDone: c.wasRetried},
		string(ActDelete):    {Do: c.bulkDelete, WasDone: wasDeleted},
		string(ActRedrive):   {Do: c.bulkRedrive, WasDone: c.wasRedriven, Due: c.dueRedrive},
	}
}

func (c *Client) bulkCancel(ctx context.Context, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return access.ErrNoEffect
	}
	return c.store.send(ctx, &a.On, a.Op, "", &history.CancelRequested{Reason: args.Reason, RequestID: a.RequestID})
}

func (c *Client) bulkTerminate(ctx context.Context, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return access.ErrNoEffect
	}
	req := terminateRequest(i, args.Reason, i.UpdatedAt)
	req.RequestID = a.RequestID
	return c.steer(ctx, a.On, a.Op, req)
}

// bulkSteer returns an act without arguments.
func (c *Client) bulkSteer(action provider.SteerAction) func(context.Context, *access.Act, *provider.Instance, *bulk.Args) error {
	return func(ctx context.Context, a *access.Act, i *provider.Instance, _ *bulk.Args) error {
		if i.Status.Ended() || action == provider.SteerUnblock && i.Blocked == nil {
			return access.ErrNoEffect
		}
		return c.steer(ctx, a.On, a.Op, provider.SteerRequest{Action: action, RequestID: a.RequestID})
	}
}

func checkBulkRaise(args *bulk.Args) error {
	if err := access.Name("event name", args.Event); err != nil {
		return err
	}
	if len(args.Payload) == 0 {
		args.Payload = []byte("null")
	}
	return nil
}

func (c *Client) bulkRaise(ctx context.Context, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return access.ErrNoEffect
	}
	return c.store.send(ctx, &a.On, a.Op, "", &history.EventReceived{Name: args.Event, Payload: args.Payload, RequestID: a.RequestID})
}

func (c *Client) bulkRestart(ctx context.Context, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if !i.Status.Ended() {
		return access.ErrNoEffect
	}
	_, err := c.restart(ctx, a.On, args.Reason, []RestartOption{Repeatable(a.RequestID)})
	return err
}

func checkBulkMove(args *bulk.Args) error {
	return access.Invalid(check.OptionalName("version", args.Version))
}

func (c *Client) bulkMove(ctx context.Context, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() || i.CodeVersion == args.Version {
		return access.ErrNoEffect
	}
	return c.move(ctx, a.On, args.Version, []MoveOption{moveFunc(func(o *moveOptions) { o.requestID = a.RequestID })})
}

func checkBulkReset(args *bulk.Args) error {
	if args.To != "" && args.Point != 0 {
		return fmt.Errorf("%w: there is an event, and a kind of point: give one of them", ErrInvalid)
	}
	if args.To != "" {
		_, err := ParsePointKind(args.To)
		return err
	}
	if args.Point < 1 {
		return fmt.Errorf("%w: the point is %d: give the event to go back to, 1 for the beginning", ErrInvalid, args.Point)
	}
	return nil
}

// bulkPoint finds the point of an instance.
func (c *Client) bulkPoint(ctx context.Context, key provider.UUID, args *bulk.Args) (found bulk.PlannedPoint, err error) {
	k, err := ParsePointKind(args.To)
	if err != nil {
		return found, err
	}
	t := access.Target{Key: key}
	p, err := c.findPoint(ctx, t, fmt.Sprintf("finding the point %s of %s", k, t), k)
	return bulk.PlannedPoint{Execution: p.Execution, Event: p.Event}, err
}

// bulkReset takes an instance back in its current execution, or in the one in which the point was found. An instance that remembers the request ID was
// taken back before.
func (c *Client) bulkReset(ctx context.Context, a *access.Act, _ *provider.Instance, args *bulk.Args) error {
	o := history.Opening{Execution: args.In, Event: args.Point, RequestID: a.RequestID, DropLater: args.Drop, Reason: args.Reason}
	return c.bulkOpen(ctx, a, o)
}

// bulkOpen opens an execution. An instance that has left the execution in which its point was found is left alone.
func (c *Client) bulkOpen(ctx context.Context, a *access.Act, o history.Opening) error {
	_, err := c.openNow(ctx, a, o)
	if o.Execution != 0 && errors.Is(err, ErrSuperseded) {
		return access.ErrNoEffect
	}
	return err
}

func checkBulkFork(args *bulk.Args) error {
	if args.Prefix == "" {
		return fmt.Errorf("%w: a fork has no prefix: give what the IDs of the new instances begin with", ErrInvalid)
	}
	if err := access.Name("prefix of IDs", args.Prefix); err != nil {
		return err
	}
	if reserved.ID(args.Prefix) {
		return fmt.Errorf("%w: IDs that begin with %s belong to perdure itself: give another prefix", ErrInvalid, reserved.IDPrefix)
	}
	return checkBulkReset(args)
}

// bulkFork starts an instance from a point of the history of another one. Its ID is the other one's with a prefix, so that a job forks none
// twice.
func (c *Client) bulkFork(ctx context.Context, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	id := args.Prefix + i.ID
	if err := access.Name("instance ID", id); err != nil {
		return err
	}
	o := history.Opening{
		Execution: args.In, Event: args.Point, RequestID: a.RequestID, Reason: args.Reason, ForkID: id, ForkKey: provider.NewKey(id),
	}
	if err := forkable(&o); err != nil { // the prefix may end in the middle of a reserved one
		return err
	}
	return c.bulkOpen(ctx, a, o)
}

func (c *Client) bulkDelete(ctx context.Context, a *access.Act, _ *provider.Instance, args *bulk.Args) error {
	_, err := c.deleteNow(ctx, a, deleteOptions{force: args.Force})
	return err
}

// bulkRedrive puts all dead letters of an instance back. A letter goes with its redrive, so none is put back twice.
func (c *Client) bulkRedrive(ctx context.Context, a *access.Act, i *provider.Instance, _ *bulk.Args) error {
	letters, err := c.store.ListDeadLetters(ctx, a.Op, provider.DeadLettersRequest{Key: i.Key})
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		return access.ErrNoEffect
	}
	var failed []error
	for n := range letters {
		if err := c.store.ChangeDeadLetter(ctx, a.Op, provider.DeadLettersRedrive, letters[n].ID); err != nil && !errors.Is(err, ErrNotFound) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// bulkRetryNow begins the next attempt of a task that waits for it. It names the attempt and the state, so an attempt that runs is not given up, and
// a later one is left alone.
func (c *Client) bulkRetryNow(ctx context.Context, a *access.Act, t bulk.PlannedTask, _ *bulk.Args) error {
	p := PendingActivity{c: c, t: a.On, ref: ActivityRef{Execution: t.Execution, EventID: t.Event, Attempt: t.Attempt, State: ActivityQueued}}
	err := p.steer(ctx, a.Op, provider.SteerTaskRequest{Action: provider.SteerTaskRetry})
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		return access.ErrNoEffect
	}
	return err
}
