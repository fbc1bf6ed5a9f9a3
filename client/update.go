package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// UpdateOption is an option of Update. InTx of the store's package is none: Update waits for the outcome, which comes after
// the transaction. Use SendUpdate in a transaction.
type UpdateOption interface {
	applyUpdate(o *updateOptions)
}

type updateOptions struct {
	raiseOptions

	id     string
	chosen bool // the caller has given the ID
	system bool // the update may be for an instance of perdure itself
	kind   Act  // of such an update
	other  string
	detail string
	wait   waitOptions
	bad    error // why an option is refused
}

// UpdateID is an option of Update, SendUpdate and StartAndUpdate. WithUpdateID makes one.
type UpdateID struct{ id string }

func (id UpdateID) applyUpdate(o *updateOptions) { o.id, o.chosen = id.id, true }

// StartOption makes id a [StartOption] of StartAndUpdate.
func (UpdateID) StartOption() {}

// RaiseOption makes id a [RaiseOption] of SendUpdate.
func (UpdateID) RaiseOption() {}

// WithUpdateID makes an update repeatable: an instance takes each ID once, across executions. A repeat with the same name and
// input gets the outcome of the first one. A repeat with another name or input is ErrUpdateDiffers. The instance remembers the
// last 10,000 IDs. It keeps the last 1,000 outcomes, or the last 16 MiB of them, but at least ten; see ErrOutcomeGone. The ID
// is 1 to 512 bytes of UTF-8 without NUL. Without this option it is random.
func WithUpdateID(id string) UpdateID { return UpdateID{id} }

// Blockage is an option of Wait and Update. OrBlocked makes one.
type Blockage struct{}

func (Blockage) applyUpdate(o *updateOptions) { o.wait.blocked = true }

func (Blockage) applyWait(o *waitOptions) error { //nolint:unparam // options of other kinds fail
	o.blocked = true
	return nil
}

// Acceptance is an option of Update and of UpdateHandle.Wait. UntilAccepted makes one.
type Acceptance struct{}

func (Acceptance) applyUpdate(o *updateOptions) { o.wait.accepted = true }

func (Acceptance) applyWait(o *waitOptions) error { //nolint:unparam // options of other kinds fail
	o.accepted = true
	return nil
}

// UntilAccepted ends the wait as soon as the handler has the update, or the update is rejected. The output is then the zero value.
func UntilAccepted() Acceptance { return Acceptance{} }

// UpdateHandle is an update of an instance whose output is an Out. It is a plain value: many goroutines may copy, compare and
// use it at once. A zero UpdateHandle returns ErrInvalid.
type UpdateHandle[Out any] struct {
	c  *Client
	t  access.Target
	of sentUpdate
}

// sentUpdate names an update, and what a repeat of it must equal.
type sentUpdate struct {
	id    string
	name  string // "": any
	input string // of name
}

// UpdateOf returns the handle of an update that some process has sent, without a call of the store.
func UpdateOf[Out, T any](h Handle[T], id string) UpdateHandle[Out] {
	return UpdateHandle[Out]{c: h.c, t: h.t, of: sentUpdate{id: id}}
}

// ID returns the ID of the update.
func (u UpdateHandle[Out]) ID() string { return u.of.id }

// Update calls a handler of the orchestration, as orchestration.HandleUpdate has registered it under the name, and waits for its output. It waits
// until ctx is done, across continue-as-new and failures of the storage. The wait needs no node: it ends when a commit stores
// the outcome. The input is encoded as JSON, at most 2 MiB.
//
// When ctx ends the wait, the update goes on. [UpdateOf] waits for it again, from any process. Give [WithUpdateID], so that its
// ID is known.
//
// Do not call Update while the goroutine holds a transaction of the store open: the outcome may wait for that transaction.
//
// Options are WithUpdateID, UntilAccepted, OrBlocked and WithHeader.
//
// Errors: ErrRejected, ErrUnknownUpdate, ErrPanicked, ErrClosing, ErrEnded, ErrUpdateFailed, ErrAbandoned, ErrNotCarried, ErrOutcomeGone,
// ErrDiscarded, ErrUpdateDiffers, ErrNotFinished, ErrTooLarge, ErrInboxFull, ErrOutcomeUnknown, orchestration.ErrPayload for an output
// that is no Out, ErrBlocked if OrBlocked is given, ErrInvalid, ErrNotFound, or the error of ctx.
func Update[Out, T any](ctx context.Context, h Handle[T], name string, in any, opts ...UpdateOption) (Out, error) {
	var none Out
	if err := h.usable(ctx); err != nil {
		return none, err
	}
	var o updateOptions
	err := bind.Apply(opts, func(opt UpdateOption) error {
		opt.applyUpdate(&o)
		return nil
	})
	if err != nil {
		return none, fmt.Errorf("updating %s: %w: %w", h.t, ErrInvalid, err)
	}
	if o.bad != nil {
		return none, fmt.Errorf("updating %s: %w", h.t, o.bad)
	}
	u, err := h.c.update(ctx, h.t, name, in, &o)
	if err != nil {
		return none, err
	}
	return UpdateHandle[Out]{c: h.c, t: h.t, of: u}.wait(ctx, o.wait)
}

// SendUpdate sends an update and returns its handle without waiting. With InTx of the store's package, the update is sent if and only
// if the transaction of the caller commits; wait for it after that. Options are WithUpdateID, WithHeader
// and InTx.
//
// Errors: ErrEnded, ErrNotFinished, ErrTooLarge, ErrInboxFull, ErrForeignTx, ErrOutcomeUnknown, ErrInvalid, ErrNotFound, or
// the error of ctx.
func SendUpdate[Out, T any](ctx context.Context, h Handle[T], name string, in any, opts ...RaiseOption) (UpdateHandle[Out], error) {
	var none UpdateHandle[Out]
	if err := h.usable(ctx); err != nil {
		return none, err
	}
	var o updateOptions
	if err := bind.Apply(opts, o.setSent); err != nil {
		return none, fmt.Errorf("updating %s: %w", h.t, access.Invalid(err))
	}
	u, err := h.c.update(ctx, h.t, name, in, &o)
	if err != nil {
		return none, err
	}
	return UpdateHandle[Out]{c: h.c, t: h.t, of: u}, nil
}

// setSent applies an option of sending.
func (o *updateOptions) setSent(opt RaiseOption) error {
	switch opt := opt.(type) {
	case UpdateID:
		opt.applyUpdate(o)
		return nil
	case provider.Tx:
		o.tx = &opt
		return nil
	case headerOption:
		return addHeader(&o.header, opt)
	default:
		return fmt.Errorf("option of type %T: give WithUpdateID, WithHeader, or InTx of the store's package", opt)
	}
}

// update sends an update, unless the store shows that it was taken.
func (c *Client) update(ctx context.Context, t access.Target, name string, in any, o *updateOptions) (sentUpdate, error) {
	op := fmt.Sprintf("updating %s by %q", t, name)
	a := access.Act{Kind: string(ActUpdate), Op: op, On: t, Detail: name, InTx: o.tx != nil, System: o.system}
	if o.kind != "" {
		a.Kind, a.Other, a.Detail = string(o.kind), o.other, o.detail
	}
	if err := c.caller.RefuseSystem(ctx, &a); err != nil {
		return sentUpdate{}, err
	}
	u, body, err := newUpdate(name, in, o)
	if err == nil {
		err = c.mayUpdate(ctx)
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w", op, err)
	}
	stored, end := c.sending(ctx, observe.Sending{Kind: "update", Name: name, Instance: t.ID}, o.header, o.tx != nil)
	body.Header, a.RequestID, a.Input = stored, u.id, &body.Input
	err = c.caller.Perform(ctx, &a, func(ctx context.Context) error {
		err := c.sendUpdate(ctx, &a, body, o)
		if errors.Is(err, ErrEnded) { // between the look and the send, or after a try that seemed to fail
			err = c.judgeRefusal(ctx, &a.On, u.id, op, err)
		}
		return err
	})
	end(err)
	if c.caller.Interceptor != nil {
		u.input = string(body.Input) // with which the outcome is compared
	}
	return u, err
}

func (c *Client) sendUpdate(ctx context.Context, a *access.Act, body *history.UpdateReceived, o *updateOptions) error {
	if o.tx != nil {
		return c.store.sendIn(ctx, *o.tx, a.On, a.Op, body)
	}
	if o.chosen {
		req := provider.GetRequest{Key: a.On.Key, Value: history.UpdateKey(body.ID)}
		res, err := c.store.shown(ctx, a.Op, req)
		if err != nil || res.Value != nil && (!res.Instance.Deleting || over(res.Value.Value)) {
			return err // the wait compares; if the instance moves, the send says so
		}
	}
	return c.store.send(ctx, &a.On, a.Op, fmt.Sprintf("repeat it with client.WithUpdateID(%q)", body.ID), body)
}

// newUpdate checks an update and makes its message.
func newUpdate(name string, in any, o *updateOptions) (u sentUpdate, body *history.UpdateReceived, err error) {
	if !o.chosen && o.id == "" {
		o.id = uuid.NewString()
	}
	if err := access.Name("update name", name); err != nil {
		return u, nil, err
	}
	if err := access.Name("update ID", o.id); err != nil {
		return u, nil, err
	}
	input, err := access.Encode("input", in)
	if err != nil {
		return u, nil, err
	}
	return sentUpdate{id: o.id, name: name, input: string(input)}, &history.UpdateReceived{Name: name, ID: o.id, Input: input}, nil
}

// mayUpdate refuses updates on a store that older nodes may still use. They would leave the instance to newer ones, for good. Inside
// a transaction of the caller it reads, too, unless the level is known: a read waits for no writer, and is given up after 2 s if
// the caller holds the only connection.
func (c *Client) mayUpdate(ctx context.Context) error {
	level := c.allowed(ctx, false)
	if level < replay.LevelOfHandlers {
		ctx, cancel := c.store.Bound(ctx)
		defer cancel()
		var err error
		if level, err = c.level.Again(ctx); err != nil && level < replay.LevelOfHandlers {
			return fmt.Errorf("looking whether the store allows updates: %w", err)
		}
	}
	if level < replay.LevelOfHandlers {
		return fmt.Errorf("%w: updates need engine level %d, the store allows %d: start a node if the database is new, else run "+
			"`perdure upgrade --finish` when all nodes are new",
			ErrNotFinished, replay.LevelOfHandlers, level)
	}
	return nil
}

// Wait waits for the outcome of the update and returns its output, as [Update] does, with the same errors and with ErrBlocked if
// [OrBlocked] is given. It may be called at any time, from any process. For an ID that was never sent it waits until ctx is
// done or the instance has ended.
func (u UpdateHandle[Out]) Wait(ctx context.Context, opts ...WaitOption) (Out, error) {
	var none Out
	if err := (Handle[Out]{c: u.c, t: u.t}).usable(ctx); err != nil {
		return none, err
	}
	var o waitOptions
	err := access.Name("update ID", u.of.id)
	if err == nil {
		err = access.Invalid(bind.Apply(opts, func(opt WaitOption) error { return opt.applyWait(&o) }))
	}
	if err != nil {
		return none, fmt.Errorf("waiting for an update of %s: %w", u.t, err)
	}
	return u.wait(ctx, o)
}

func (u UpdateHandle[Out]) wait(ctx context.Context, o waitOptions) (out Out, err error) {
	output, outcome := u.c.updated(ctx, u.t, &u.of, o)
	if output == nil {
		return out, outcome
	}
	if err := payload.Decode(output, &out); err != nil {
		var none Out
		return none, u.c.errors.New(orchestration.ErrPayload, "output of update %q of %s: %v: give Update the type that the handler returns",
			u.of.id, u.t, err)
	}
	return out, outcome
}
