package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Start stores a new instance of an orchestration and returns a handle of it. It does not wait for a node to run it; any node
// that has the orchestration registered does. The instance runs the version of fn: see orchestration.Version. For closures and
// generic functions pass the result of orchestration.Define. The input is stored as JSON, at most 2 MiB.
//
// Inside a transaction of the caller (see postgres.InTx, sqlite.InTx) the instance starts if and only if that commits.
//
// A client with a node (see Options.Node) makes the first turn with the start if the node is free: one commit stores both.
// Start then waits until the code blocks or returns, except for an orchestration whose code was slow before. So code may begin
// although its start is refused, for example because the ID is in use. Its commands are then dropped.
//
// While more work waits in the store than Options.MaxBacklog allows, the start waits or is refused; see OverloadPolicy.
//
// Errors: ErrInvalid, ErrTooLarge, ErrExists, ErrOverloaded, ErrForeignTx, ErrOutcomeUnknown, or the error of ctx.
func Start[In, Out any](
	ctx context.Context, c *Client, fn func(*orchestration.Context, In) (Out, error), in In, opts ...StartOption,
) (Handle[Out], error) {
	ref, err := bind.OrchestrationOf(fn)
	if err != nil {
		return Handle[Out]{}, fmt.Errorf("starting an orchestration: %w: %w", ErrInvalid, err)
	}
	t, err := c.start(ctx, ref.Name, startOptions{version: ref.Version, versioned: true}, in, opts)
	if err != nil {
		return Handle[Out]{}, err
	}
	return Handle[Out]{c: c, t: t}, nil
}

// StartNamed is Start for an orchestration that is known by its stored name only. Without WithVersion it starts the newest version
// that a node of the store has registered, and code without a version if none has. It knows the nodes as of ten seconds ago, or as of
// its last start outside of a transaction. See Nodes for what that list lacks; a store that lists no nodes starts code without a version.
func StartNamed[Out any](ctx context.Context, c *Client, name string, in any, opts ...StartOption) (Handle[Out], error) {
	t, err := c.start(ctx, name, startOptions{}, in, opts)
	if err != nil {
		return Handle[Out]{}, err
	}
	return Handle[Out]{c: c, t: t}, nil
}

// start checks the request, stores it and returns the instance with its ID. Without a version in o or opts, it takes the newest.
func (c *Client) start(ctx context.Context, name string, o startOptions, in any, opts []StartOption) (_ access.Target, err error) {
	var req provider.CreateRequest
	defer func() {
		if o.end != nil {
			o.end(err)
		}
	}()
	err = c.usable(ctx)
	if err == nil {
		req, err = o.request(ctx, c, name, in, opts, func() (int64, string, error) {
			if o.versioned {
				return c.allowed(ctx, o.tx != nil), o.version, nil
			}
			newest, err := c.versions.newest(ctx, c.store, name, o.tx != nil)
			return c.allowed(ctx, o.tx != nil), newest, err
		})
	}
	if err != nil {
		return access.Target{}, fmt.Errorf("starting %s: %w", check.Quote(name), err)
	}
	op := fmt.Sprintf("starting %q as instance %q", name, req.ID)
	if err := c.admit(ctx, op, &o); err != nil {
		return access.Target{}, access.Explain(op, 0, err)
	}
	if (c.principal != nil || c.caller.Interceptor != nil) && !o.withinAct {
		return c.startAs(ctx, name, op, &o, req)
	}
	return c.storeStart(ctx, name, op, &o, req)
}

// startSystem is access.Caller.StartSystem.
func (c *Client) startSystem(ctx context.Context, s access.SystemStart) (access.Target, error) {
	if s.Act == "" && !s.WithinAct {
		return access.Target{}, fmt.Errorf("starting %q: %w: it is no act and not within one", s.Name, ErrInvalid)
	}
	o := startOptions{
		id: s.ID, version: cmp.Or(s.Version, "1"), versioned: true, system: true, policy: s.Policy, attributes: s.Attributes,
		kind: Act(s.Act), detail: s.Detail, withinAct: s.WithinAct,
	}
	return c.start(ctx, s.Name, o, s.Input, nil)
}

// startAs stores a start as an act of the principal, within the interceptors.
func (c *Client) startAs(ctx context.Context, name, op string, o *startOptions, req provider.CreateRequest) (t access.Target, err error) {
	a := access.Act{
		Kind: string(cmp.Or(o.kind, ActStart)), Op: op, On: access.Target{ID: req.ID}, Detail: cmp.Or(o.detail, name),
		RequestID: req.RequestID, System: o.system, InTx: o.tx != nil,
	}
	if !o.system {
		a.Input = &o.started.Input
	}
	err = c.caller.Perform(ctx, &a, func(ctx context.Context) (err error) {
		if c.caller.Interceptor != nil {
			req.Message = engine.Message(o.started, 0, 0)
		}
		t, err = c.storeStart(ctx, name, op, o, req)
		a.On.Key = t.Key
		return err
	})
	return t, err
}

// storeStart stores a start, in the transaction of the caller if there is one.
func (c *Client) storeStart(ctx context.Context, name, op string, o *startOptions, req provider.CreateRequest) (_ access.Target, err error) {
	stored, taker, taken, doubtful, err := c.createOrReplace(ctx, op, o, &req)
	if taken {
		return taker, nil
	}
	if o.update != nil && !o.useRunning && errors.Is(err, ErrEnded) {
		t := access.Target{ID: req.ID}
		err = c.judgeRefusal(ctx, &t, o.update.ID, op, access.Explain(op, 0, err))
		return t, err
	}
	if e, ok := errors.AsType[*ExistsError](err); ok && req.Policy == provider.IDUseExisting {
		return c.hidden(ctx, access.Target{ID: e.ID, Key: e.Key}, op, o, err)
	}
	if err != nil {
		return access.Target{}, access.Doubt(access.Explain(op, 0, err), doubtful,
			fmt.Sprintf("repeat it with client.WithID(%q) and client.WithRequestID(%q)", req.ID, req.RequestID))
	}
	// The first execution runs the orchestration that the start named; a later one may have continued as another.
	if stored.Name != name && stored.Execution == 1 {
		return access.Target{}, fmt.Errorf("%s: %w, of orchestration %q: use another ID", op,
			&ExistsError{ID: stored.ID, Key: stored.Key, Status: stored.Status}, stored.Name)
	}
	if o.limit.For != 0 {
		tellLimit(ctx)
	}
	t := access.Target{ID: stored.ID, Key: stored.Key}
	if o.resend && stored.Key != req.Key {
		err = c.resend(ctx, &t, op, o)
	}
	return t, err
}

// hidden judges an instance that a start may not take although it may take an existing one: it moves, or is being deleted. The handle of an
// update that has its outcome still works.
func (c *Client) hidden(ctx context.Context, t access.Target, op string, o *startOptions, refused error) (access.Target, error) {
	ctx, cancel := c.store.Bound(ctx)
	defer cancel()
	if o.update != nil {
		res, err := c.store.shown(ctx, op, provider.GetRequest{Key: t.Key, Value: history.UpdateKey(o.update.ID)})
		if err == nil && res.Value != nil && over(res.Value.Value) {
			return t, nil
		}
	}
	if o.tx == nil && c.store.moved(ctx, t) { // that is a write, which the transaction would hold up
		return access.Target{}, access.Explain(op, 0, ErrMoved)
	}
	return access.Target{}, fmt.Errorf("%s: %w: it moves to another store, or is being deleted: try again when it is gone", op, refused)
}

// resend sends the update of a start that was made before, perhaps without it: the store does not deliver what comes with a repeat. The
// instance takes each ID once.
func (c *Client) resend(ctx context.Context, t *access.Target, op string, o *startOptions) error {
	a := access.Act{On: *t, Op: op}
	uo := updateOptions{raiseOptions: o.raiseOptions, chosen: true}
	err := c.sendUpdate(ctx, &a, o.update, &uo)
	if errors.Is(err, ErrEnded) {
		err = c.judgeRefusal(ctx, t, o.update.ID, op, err)
	}
	return err
}

// create stores a start. The client's node makes the first turn with it if it can. If the outcome of that is not known, the
// repeat finds it out.
func (c *Client) create(ctx context.Context, op string, req provider.CreateRequest) (stored provider.Instance, doubtful bool, err error) {
	triedNode := false
	doubtful, err = c.store.Write(ctx, op, func(ctx context.Context) (err error) {
		var res provider.CreateResult
		ok := false
		if !triedNode && c.node != nil {
			triedNode = true
			res, ok, err = c.node.StartWithFirstTurn(ctx, req)
		}
		if !ok {
			res, err = c.store.Create(ctx, req)
		}
		stored = res.Instance
		return err
	})
	return stored, doubtful, err
}

// request applies the options and returns the request to the storage. It is the same for all repeats. levelAndVersion returns the level that the
// store allows, and the version of the code.
func (o *startOptions) request(
	ctx context.Context, c *Client, name string, in any, opts []StartOption, levelAndVersion func() (level int64, version string, err error),
) (req provider.CreateRequest, err error) {
	if err := access.Name("orchestration name", name); err != nil {
		return req, err
	}
	if err := o.apply(opts); err != nil {
		return req, err
	}
	input, err := access.Encode("input", in)
	if err != nil {
		return req, err
	}
	if err := o.refuseSystem(name); err != nil {
		return req, err
	}
	if o.id == "" {
		o.id = uuid.Must(uuid.NewV7()).String()
	}
	if o.requestID == "" {
		o.requestID = uuid.NewString()
	}
	level, version, err := levelAndVersion()
	if err == nil {
		err = o.setLimit(ctx, c)
	}
	if err != nil {
		return req, err
	}
	var stored []byte
	stored, o.end = c.sending(ctx, observe.Sending{Kind: "start", Orchestration: name, Instance: o.id}, o.header, o.tx != nil)
	started := &history.ExecutionStarted{
		Name: name, CodeVersion: version, Input: input, Settings: replay.SettingsAt(level), RequestID: o.requestID,
		Delay: roundUp(o.delay), Header: stored,
	}
	o.started = started
	o.nameEvents()
	req = provider.CreateRequest{
		ID: o.id, Key: provider.NewKey(o.id), Commit: provider.UUID(uuid.New()),
		Name: name, CodeVersion: version, EngineLevel: replay.LevelOf(started), Policy: o.policy, Replaces: o.replaces, RequestID: o.requestID,
		Message: engine.Message(started, 0, 0), Attributes: o.attributes,
	}
	for _, b := range o.messages {
		req.Messages = append(req.Messages, engine.Message(b, 0, 0))
	}
	return req, nil
}

// refuseSystem refuses names and IDs of perdure itself.
func (o *startOptions) refuseSystem(name string) error {
	switch {
	case o.system:
		return nil
	case reserved.Name(name):
		return fmt.Errorf("%w: names that begin with %s belong to perdure itself: give that of an orchestration of yours", ErrInvalid, reserved.NamePrefix)
	case reserved.ID(o.requestID):
		return fmt.Errorf("%w: request IDs that begin with %s belong to perdure itself: choose another one", ErrInvalid, reserved.IDPrefix)
	case reserved.ID(o.id):
		return fmt.Errorf("%w: IDs that begin with %s belong to perdure itself: choose another one", ErrInvalid, reserved.IDPrefix)
	}
	return nil
}

// roundUp returns d in microseconds, never less: nothing begins early.
func roundUp(d time.Duration) int64 {
	micros := int64(d / time.Microsecond)
	if d%time.Microsecond != 0 {
		micros++
	}
	return micros
}
