package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// errNoEffect is the error of an act that had nothing to do on an instance.
var errNoEffect = errors.New("the act has no effect on the instance")

// A bulkAct is an act that jobs can do. Done on one instance twice under the same request ID, it happens once.
type bulkAct struct {
	check   func(args *bulk.Args) error // nil: it takes a reason only
	do      func(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, args *bulk.Args) error
	wasDone func(ctx context.Context, c *Client, r *doneRequest) (bool, error)
	due     func(ctx context.Context, c *Client, key provider.UUID) (bool, error) // sets Planned.Due; nil: wasDone does not need it
	named   bool                                                                  // wasDone needs Planned.ID only: the instance may be gone
}

// bulkActs returns the acts that jobs can do.
func bulkActs() map[Act]bulkAct {
	return map[Act]bulkAct{
		ActCancel:    {do: bulkCancel, wasDone: wasSent},
		ActTerminate: {do: bulkTerminate, wasDone: wasSteered},
		ActSuspend:   {do: bulkSteer(provider.SteerSuspend), wasDone: wasSteered},
		ActResume:    {do: bulkSteer(provider.SteerResume), wasDone: wasSteered},
		ActUnblock:   {do: bulkSteer(provider.SteerUnblock), wasDone: wasSteered},
		ActRaise:     {check: checkBulkRaise, do: bulkRaise, wasDone: wasSent},
		ActRestart:   {do: bulkRestart, wasDone: wasRestarted, named: true},
		ActReset:     {check: checkBulkReset, do: bulkReset, wasDone: wasSteered},
		ActFork:      {check: checkBulkFork, do: bulkFork, wasDone: wasForked, named: true},
		ActMove:      {check: checkBulkMove, do: bulkMove, wasDone: wasSteered},
		ActDelete:    {do: bulkDelete, wasDone: wasDeleted},
		ActRedrive:   {do: bulkRedrive, wasDone: wasRedriven, due: dueRedrive},
	}
}

// BulkActs lists the acts that a bulk job can do, by name.
func BulkActs() []Act { return slices.Sorted(maps.Keys(bulkActs())) }

// bulkActOf returns an act that jobs can do.
func bulkActOf(a Act) (bulkAct, error) {
	found, ok := bulkActs()[a]
	if !ok {
		names := make([]string, 0, len(bulkActs()))
		for _, name := range BulkActs() {
			names = append(names, string(name))
		}
		return found, fmt.Errorf("%w: a bulk job cannot do %s: give %s", ErrInvalid, check.Quote(string(a)), strings.Join(names, ", "))
	}
	return found, nil
}

func bulkCancel(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return errNoEffect
	}
	return c.store.send(ctx, &a.On, a.Op, "", &history.CancelRequested{Reason: args.Reason, RequestID: a.RequestID})
}

func bulkTerminate(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return errNoEffect
	}
	req := terminateRequest(i, args.Reason, i.UpdatedAt)
	req.RequestID = a.RequestID
	return c.steer(ctx, a.On, a.Op, req)
}

// bulkSteer returns an act without arguments.
func bulkSteer(action provider.SteerAction) func(context.Context, *Client, *access.Act, *provider.Instance, *bulk.Args) error {
	return func(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, _ *bulk.Args) error {
		if i.Status.Ended() || action == provider.SteerUnblock && i.Blocked == nil {
			return errNoEffect
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

func bulkRaise(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return errNoEffect
	}
	return c.store.send(ctx, &a.On, a.Op, "", &history.EventReceived{Name: args.Event, Payload: args.Payload, RequestID: a.RequestID})
}

func bulkRestart(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if !i.Status.Ended() {
		return errNoEffect
	}
	_, err := c.restart(ctx, a.On, args.Reason, []RestartOption{Repeatable(a.RequestID)})
	return err
}

func checkBulkMove(args *bulk.Args) error {
	return access.Invalid(check.OptionalName("version", args.Version))
}

func bulkMove(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() || i.CodeVersion == args.Version {
		return errNoEffect
	}
	return c.move(ctx, a.On, args.Version, []MoveOption{moveFunc(func(o *moveOptions) { o.requestID = a.RequestID })})
}

func checkBulkReset(args *bulk.Args) error {
	if args.Point < 1 {
		return fmt.Errorf("%w: the point is %d: give the event to go back to, 1 for the beginning", ErrInvalid, args.Point)
	}
	return nil
}

// bulkReset takes an instance back in its current execution. An instance that remembers the request ID was taken back before.
func bulkReset(ctx context.Context, c *Client, a *access.Act, _ *provider.Instance, args *bulk.Args) error {
	_, err := c.openNow(ctx, a, history.Opening{Event: args.Point, RequestID: a.RequestID, DropLater: args.Drop, Reason: args.Reason})
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
func bulkFork(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, args *bulk.Args) error {
	id := args.Prefix + i.ID
	if err := access.Name("instance ID", id); err != nil {
		return err
	}
	o := history.Opening{Event: args.Point, RequestID: a.RequestID, Reason: args.Reason, ForkID: id, ForkKey: provider.NewKey(id)}
	if err := forkable(&o); err != nil { // the prefix may end in the middle of a reserved one
		return err
	}
	_, err := c.openNow(ctx, a, o)
	return err
}

func bulkDelete(ctx context.Context, c *Client, a *access.Act, _ *provider.Instance, args *bulk.Args) error {
	_, err := c.deleteNow(ctx, a, deleteOptions{force: args.Force})
	return err
}

// bulkRedrive puts all dead letters of an instance back. A letter goes with its redrive, so none is put back twice.
func bulkRedrive(ctx context.Context, c *Client, a *access.Act, i *provider.Instance, _ *bulk.Args) error {
	letters, err := c.store.deadLetters(ctx, a.Op, provider.DeadLettersRequest{Key: i.Key})
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		return errNoEffect
	}
	var failed []error
	for n := range letters {
		if err := c.changeDeadLetterNow(ctx, a.Op, provider.DeadLettersRedrive, letters[n].ID); err != nil && !errors.Is(err, ErrNotFound) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
