package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// errNoEffect is the error of an act that had nothing to do on an instance.
var errNoEffect = errors.New("the act has no effect on the instance")

// A bulkAct is an act that jobs can do. Done on one instance twice under the same request ID, it happens once.
type bulkAct struct {
	check func(args *bulk.Args) error // nil: it takes a reason only
	do    func(ctx context.Context, c *Client, a *act, i *provider.Instance, args *bulk.Args) error
}

// bulkActs returns the acts that jobs can do.
func bulkActs() map[Act]bulkAct {
	return map[Act]bulkAct{
		ActCancel:    {do: bulkCancel},
		ActTerminate: {do: bulkTerminate},
		ActSuspend:   {do: bulkSteer(provider.SteerSuspend)},
		ActResume:    {do: bulkSteer(provider.SteerResume)},
		ActUnblock:   {do: bulkSteer(provider.SteerUnblock)},
		ActRaise:     {check: checkBulkRaise, do: bulkRaise},
		ActRestart:   {do: bulkRestart},
		ActMove:      {check: checkBulkMove, do: bulkMove},
		ActDelete:    {do: bulkDelete},
		ActRedrive:   {do: bulkRedrive},
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

func bulkCancel(ctx context.Context, c *Client, a *act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return errNoEffect
	}
	return c.store.send(ctx, &a.on, a.doing, "", &history.CancelRequested{Reason: args.Reason, RequestID: a.requestID})
}

func bulkTerminate(ctx context.Context, c *Client, a *act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return errNoEffect
	}
	req := terminateRequest(i, args.Reason, i.UpdatedAt)
	req.RequestID = a.requestID
	return c.steer(ctx, a.on, a.doing, req)
}

// bulkSteer returns an act without arguments.
func bulkSteer(action provider.SteerAction) func(context.Context, *Client, *act, *provider.Instance, *bulk.Args) error {
	return func(ctx context.Context, c *Client, a *act, i *provider.Instance, _ *bulk.Args) error {
		if i.Status.Ended() || action == provider.SteerUnblock && i.Blocked == nil {
			return errNoEffect
		}
		return c.steer(ctx, a.on, a.doing, provider.SteerRequest{Action: action, RequestID: a.requestID})
	}
}

func checkBulkRaise(args *bulk.Args) error {
	if err := checkName("event name", args.Event); err != nil {
		return err
	}
	if len(args.Payload) == 0 {
		args.Payload = []byte("null")
	}
	return nil
}

func bulkRaise(ctx context.Context, c *Client, a *act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() {
		return errNoEffect
	}
	return c.store.send(ctx, &a.on, a.doing, "", &history.EventReceived{Name: args.Event, Payload: args.Payload, RequestID: a.requestID})
}

func bulkRestart(ctx context.Context, c *Client, a *act, i *provider.Instance, args *bulk.Args) error {
	if !i.Status.Ended() {
		return errNoEffect
	}
	_, err := c.restart(ctx, a.on, args.Reason, []RestartOption{Repeatable(a.requestID)})
	return err
}

func checkBulkMove(args *bulk.Args) error {
	return invalid(check.OptionalName("version", args.Version))
}

func bulkMove(ctx context.Context, c *Client, a *act, i *provider.Instance, args *bulk.Args) error {
	if i.Status.Ended() || i.CodeVersion == args.Version {
		return errNoEffect
	}
	return c.move(ctx, a.on, args.Version, nil)
}

func bulkDelete(ctx context.Context, c *Client, a *act, _ *provider.Instance, args *bulk.Args) error {
	_, err := c.deleteNow(ctx, a, deleteOptions{force: args.Force})
	return err
}

// bulkRedrive puts all dead letters of an instance back. A letter goes with its redrive, so none is put back twice.
func bulkRedrive(ctx context.Context, c *Client, a *act, i *provider.Instance, _ *bulk.Args) error {
	letters, err := c.store.letters(ctx, a.doing, provider.DeadLettersRequest{Key: i.Key})
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		return errNoEffect
	}
	var failed []error
	for n := range letters {
		if err := c.changeLetterNow(ctx, a.doing, provider.DeadLettersRedrive, letters[n].ID); err != nil && !errors.Is(err, ErrNotFound) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
