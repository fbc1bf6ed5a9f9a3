package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

type restartOptions struct {
	id, requestID string
	limit         reserved.Limit // of the old instance
	input         json.RawMessage
	newInput      bool
}

type restartFunc func(o *restartOptions) error

func (f restartFunc) applyRestart(o *restartOptions) error { return f(o) }

// RestartAs gives the new instance an ID of its own, which must be free. Then the old one may still run.
func RestartAs(id string) RestartOption {
	return restartFunc(func(o *restartOptions) error {
		o.id = id
		return access.Name("instance ID", id)
	})
}

// RestartWithInput gives the new instance another input, such as that of the old one after a correction. The input is encoded as JSON, at most 2 MiB.
func RestartWithInput(in any) RestartOption {
	data, err := access.Encode("input", in)
	return restartFunc(func(o *restartOptions) error {
		o.newInput, o.input = true, data
		return err
	})
}

// Restart starts again what the instance that the ID names now was started with. See Handle.Restart.
func (c *Client) Restart(ctx context.Context, id, reason string, opts ...RestartOption) (Handle[json.RawMessage], error) {
	t, err := c.restart(ctx, access.Target{ID: id}, reason, opts)
	return Handle[json.RawMessage]{c: c, t: t}, err
}

// Restart starts the orchestration of the instance again, from the beginning: a new instance with the same version, input and header, or with
// the input of RestartWithInput. It takes the ID of the old one, which must have ended; the old one stays readable by its key. With
// RestartAs it has another ID. If
// the instance has continued as new, the new one begins with the input of the first execution. It is no child, has no delay, and no
// attributes but those that its code sets. A time limit is set anew; see WithTimeLimit. To go on from a point of the history, use Reset.
//
// Restart reads the old instance before it stores the new one. If somebody deletes the old one in between, the ID names nothing until the
// new one is stored, or Restart fails with ErrNotFound or ErrConflict.
//
// With Repeatable, a repeat of the call returns the same instance, as a repeat of a start does. The reason is for people, at most 4 KiB, and may be empty:
// the audit has it.
//
// Errors: ErrExists for an instance that has not ended, or an ID in use; ErrSuperseded if the ID names another instance by now; ErrConflict
// for an instance that never began, or whose first execution is not stored any more; otherwise those of Start.
func (h Handle[Out]) Restart(ctx context.Context, reason string, opts ...RestartOption) (Handle[Out], error) {
	if err := h.usable(ctx); err != nil {
		return Handle[Out]{}, err
	}
	t, err := h.c.restart(ctx, h.t, reason, opts)
	return Handle[Out]{c: h.c, t: t}, err
}

func (c *Client) restart(ctx context.Context, t access.Target, reason string, opts []RestartOption) (access.Target, error) {
	a := access.Act{Kind: string(ActRestart), Op: fmt.Sprintf("restarting %s", t), On: t, Detail: reason}
	var o restartOptions
	err := c.usable(ctx)
	if err == nil {
		err = access.Reason(reason)
	}
	if err == nil {
		err = access.Option(bind.Apply(opts, func(opt RestartOption) error { return opt.applyRestart(&o) }))
	}
	if err != nil {
		return access.Target{}, fmt.Errorf("%s: %w", a.Op, err)
	}
	if err := c.caller.May(&a); err != nil {
		return access.Target{}, err
	}
	again, done, err := c.restartable(ctx, &a, &o)
	if err != nil || done {
		return again, err
	}
	started, err := c.firstStart(ctx, &a)
	if err != nil {
		return access.Target{}, err
	}
	start := startOptions{version: started.CodeVersion, versioned: true, kind: ActRestart, detail: reason, policy: provider.IDReject}
	start.id, start.requestID, start.limit, start.graced = o.id, o.requestID, o.limit, o.limit.For != 0
	if o.id == "" || o.id == a.On.ID {
		start.id, start.policy, start.replaces = a.On.ID, provider.IDReplaceEnded, a.On.Key
	}
	if start.requestID == "" {
		start.requestID = uuid.NewString()
	}
	start.header = history.DecodeHeader(started.Header)
	input := json.RawMessage(started.Input)
	if o.newInput {
		input = o.input
	}
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	again, err = c.start(ctx, started.Name, start, input, nil)
	if exists, ok := errors.AsType[*ExistsError](err); ok && !start.replaces.IsZero() && exists.Key != start.replaces {
		return access.Target{}, superseded(&a, exists.Key) // since it was read
	}
	return again, err
}

// superseded is the error of a restart whose ID was given to another instance.
func superseded(a *access.Act, key provider.UUID) error {
	return fmt.Errorf("%s: %w: the ID was given to another one, with the key %s; look at that, or give client.RestartAs", a.Op, ErrSuperseded, key)
}

// restartable reads the instance and refuses one that cannot be restarted now. done reports that an earlier try has restarted it: again is
// the new instance.
func (c *Client) restartable(ctx context.Context, a *access.Act, o *restartOptions) (again access.Target, done bool, err error) {
	res, err := c.store.Instance(ctx, a.On, a.Op, false)
	if err != nil {
		return again, false, err
	}
	old := res.Instance
	if l, ok := limitOf(&old); ok {
		o.limit = l.Renewed(old.CreatedAt.Std(), 1)
	}
	a.On = access.Target{ID: old.ID, Key: old.Key}
	if err := c.caller.RefuseSystem(ctx, a); err != nil {
		return again, false, err
	}
	if o.id != "" && o.id != old.ID {
		return again, false, nil
	}
	if o.requestID != "" && old.RequestID == o.requestID {
		return a.On, true, nil // the ID names the new one by now
	}
	now, err := c.store.Instance(ctx, access.Target{ID: old.ID}, a.Op, false)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return again, false, err
	case err == nil && now.Instance.Key != old.Key && o.requestID != "" && now.Instance.RequestID == o.requestID:
		return access.Target{ID: now.Instance.ID, Key: now.Instance.Key}, true, nil
	case err == nil && now.Instance.Key != old.Key:
		return again, false, superseded(a, now.Instance.Key)
	case !old.Status.Ended():
		return again, false, fmt.Errorf("%s: %w: end it first, or give client.RestartAs", a.Op,
			&ExistsError{ID: old.ID, Key: old.Key, Status: old.Status})
	}
	return again, false, nil
}

// firstStart reads what the first execution of an instance was started with.
func (c *Client) firstStart(ctx context.Context, a *access.Act) (*history.ExecutionStarted, error) {
	req := provider.ReadHistoryRequest{Key: a.On.Key, Execution: 1, From: 1, To: 1}
	res, err := access.Read(ctx, c.store.Store, a.Op, c.store.ReadHistory, req)
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return nil, access.Explain(a.Op, 0, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: its first execution is not stored any more; start it anew with its input", a.Op, ErrConflict)
	}
	for _, stored := range res.Events {
		event, err := history.Decode(stored.ID, stored.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Op, err)
		}
		if started, ok := event.Body.(*history.ExecutionStarted); ok {
			return started, nil
		}
	}
	return nil, fmt.Errorf("%s: %w: it has not begun, so its history does not have its input; start it anew with that", a.Op, ErrConflict)
}
