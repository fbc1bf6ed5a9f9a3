package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// Errors of Reset and Fork. Compare with errors.Is.
var (
	// ErrBadPoint: no execution can open at that event. The text names the nearest events at which one can. It is ErrInvalid, too.
	ErrBadPoint = fmt.Errorf("the history cannot be opened there: %w", ErrInvalid)
	// ErrSuperseded: the execution is over by now, or the ID was given to another instance.
	ErrSuperseded = errors.New("another execution is the current one")
)

// ResetOption is an option of Reset.
type ResetOption interface {
	applyReset(o *history.Opening) error
}

// ForkOption is an option of Fork.
type ForkOption interface {
	applyFork(o *history.Opening) error
}

// OpenOption is an option of both Reset and Fork.
type OpenOption interface {
	ResetOption
	ForkOption
}

type resetFunc func(o *history.Opening) error

func (f resetFunc) applyReset(o *history.Opening) error { return f(o) }

type openFunc func(o *history.Opening) error

func (f openFunc) applyReset(o *history.Opening) error { return f(o) }

func (f openFunc) applyFork(o *history.Opening) error { return f(o) }

// DropLater makes Reset forget the events that the instance received after the point. Without it they are received again. An event
// that was dropped may be raised again under the same request ID.
func DropLater() ResetOption {
	return resetFunc(func(o *history.Opening) error {
		o.DropLater = true
		return nil
	})
}

// WithReason notes in the new history why it was opened. The reason is for people, at most 4 KiB.
func WithReason(reason string) OpenOption {
	return openFunc(func(o *history.Opening) error {
		o.Reason = reason
		return access.Reason(reason)
	})
}

// InExecution names the execution whose history was looked at. If another one is current by now, as after a continue-as-new or another reset,
// the call returns ErrSuperseded and nothing happens. Without it the point is one of the execution that is current when the call arrives. A repeat
// of a call that succeeded, under the same request ID, succeeds.
func InExecution(execution int64) OpenOption {
	return openFunc(func(o *history.Opening) error {
		if o.Execution = execution; execution < 1 {
			return fmt.Errorf("%w: execution %d: executions begin with 1", ErrInvalid, execution)
		}
		return nil
	})
}

// WithInput gives the new execution another input. That is possible at event 1 only: everything later depends on the old one. The
// input is encoded as JSON, at most 2 MiB.
func WithInput(in any) OpenOption {
	data, err := access.Encode("input", in)
	return openFunc(func(o *history.Opening) error {
		o.NewInput, o.Input = true, data
		return err
	})
}

// Reset takes an instance back to a point of its history and lets it go on from there in a new execution, whose number it returns. The
// point stands directly before the event at, as History numbers it, in the current execution. It must be a message: an event that the
// code has not made, such as the result of an activity. One more than the last event is allowed while the instance has not ended. Any
// other event is refused with ErrBadPoint. Event 1 starts the instance anew.
//
// Every status is allowed: running, blocked, suspended, completed, failed, cancelled, terminated. The instance runs afterwards. The old
// execution stays readable, with the status Reset.
//
// A node that has the code replays what is kept before anything is stored. If it does not match, the call returns ErrNotReplayed with the
// first difference. At the point, the new execution has:
//   - what the code was waiting for. Activities run again, with their first attempt. Timers keep their time. Children go on, and tell the
//     new execution. If one has ended, its outcome is received again. Children that were started later are asked to cancel.
//   - the events that the instance received later, in their order, unless DropLater is given. A later cancel request is taken back.
//   - the status, key-values and attributes that the code had set then. Those that the code has never set stay.
//
// Random numbers and NewUUID repeat up to the point and differ from there on. Info has the number of the new execution. If the code has acted
// by the old one, it sees that up to the point.
//
// Reset waits until ctx is done. If ctx has no deadline, it waits for Options.CallTimeout. Errors: ErrBadPoint, ErrNotReplayed, ErrBusy,
// ErrSuperseded, ErrNotFinished, ErrUnserved, ErrQueryTimeout, ErrTooLarge for more than 25,000 events or 32 MiB, ErrInvalid, ErrNotFound,
// errors.ErrUnsupported of a store that cannot, ErrOutcomeUnknown, or the error of ctx.
func Reset[T any](ctx context.Context, h Handle[T], at int64, opts ...ResetOption) (execution int64, err error) {
	if err := h.usable(ctx); err != nil {
		return 0, err
	}
	o := history.Opening{Event: at, RequestID: uuid.NewString()}
	err = bind.Apply(opts, func(opt ResetOption) error { return opt.applyReset(&o) })
	a := access.Act{Kind: string(ActReset), Op: fmt.Sprintf("resetting %s to event %d", h.t, at), On: h.t}
	opened, err := h.c.open(ctx, &a, o, err)
	return opened.Execution, err
}

// Fork starts a new instance with the ID from a point of the history of another one, which stays as it is. The point and its rules are
// those of Reset. The origin may have ended. The new instance is no child and has no request ID of a start.
//
// Activities that the code was waiting for run in the new instance, too. Children belong to the origin: the code gets
// orchestration.ErrForked for those that it was waiting for. Events that the origin received later stay with the origin. Info has the
// ID of the new instance. If the code has acted by that of the origin, such as by IDs of children, it sees that up to the point.
//
// Errors are those of Reset, and ErrExists if the ID is in use.
func Fork[T any](ctx context.Context, h Handle[T], at int64, id string, opts ...ForkOption) (Handle[T], error) {
	if err := h.usable(ctx); err != nil {
		return Handle[T]{}, err
	}
	op := fmt.Sprintf("forking %s at event %d into %q", h.t, at, id)
	if err := access.Name("instance ID", id); err != nil {
		return Handle[T]{}, fmt.Errorf("%s: %w", op, err)
	}
	o := history.Opening{Event: at, RequestID: uuid.NewString(), ForkID: id, ForkKey: provider.NewKey(id)}
	err := bind.Apply(opts, func(opt ForkOption) error { return opt.applyFork(&o) })
	a := access.Act{Kind: string(ActFork), Op: op, On: h.t, Other: fmt.Sprintf("instance %q", id)}
	opened, err := h.c.open(ctx, &a, o, err)
	if err != nil {
		return Handle[T]{}, err
	}
	return HandleOf[T](h.c, id, opened.Key), nil
}

// open asks a node to open an execution. bad is the error of an option.
func (c *Client) open(ctx context.Context, a *access.Act, o history.Opening, bad error) (opened history.Opened, err error) {
	op := a.Op
	if bad == nil {
		bad = forkable(&o)
	}
	if bad != nil && !errors.Is(bad, ErrInvalid) && !errors.Is(bad, ErrTooLarge) {
		bad = access.Invalid(bad)
	}
	if o.Event < 1 {
		bad = cmp.Or(bad, fmt.Errorf("%w: event %d: events begin with 1", ErrBadPoint, o.Event))
	}
	if bad != nil {
		return opened, fmt.Errorf("%s: %w", op, bad)
	}
	a.Detail, a.RequestID = fmt.Sprintf("event %d %s", o.Event, o.Reason), o.RequestID
	err = c.caller.Perform(ctx, a, func(ctx context.Context) (err error) {
		opened, err = c.openNow(ctx, a, o)
		return err
	})
	tellLimit(ctx)
	return opened, err
}

// forkable refuses a fork into the corner of perdure itself.
func forkable(o *history.Opening) error {
	switch {
	case o.ForkID == "":
		return nil
	case reserved.ID(o.ForkID):
		return fmt.Errorf("%w: IDs that begin with %s belong to perdure itself: choose another one", ErrInvalid, reserved.IDPrefix)
	case reserved.ID(o.RequestID):
		return fmt.Errorf("%w: request IDs that begin with %s belong to perdure itself: choose another one", ErrInvalid, reserved.IDPrefix)
	}
	return nil
}

func (c *Client) openNow(ctx context.Context, of *access.Act, o history.Opening) (none history.Opened, err error) {
	t, op := of.On, of.Op
	if _, limited := ctx.Deadline(); !limited && c.store.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.store.Timeout)
		defer cancel()
		ctx = limited
	}
	res, err := c.store.Instance(ctx, t, op, false)
	if err != nil {
		return none, err
	}
	if o.Execution == 0 {
		o.Execution = res.Instance.Execution
	}
	t.Key = res.Instance.Key
	a, err := c.ask(ctx, t, op, history.Question{Open: &o})
	if err != nil {
		return none, access.Doubt(err, ctx.Err() != nil || errors.Is(err, ErrUnserved), fmt.Sprintf("repeat it with client.Repeatable(%q)", o.RequestID))
	}
	if a.Outcome == history.AnswerOpened && a.Opened != nil {
		return *a.Opened, nil
	}
	return none, notOpened(op, &a)
}

// notOpened returns the error that an answer stands for.
func notOpened(op string, a *history.Answer) error {
	reasons := map[int64]error{
		history.AnswerBadPoint: ErrBadPoint, history.AnswerTaken: ErrExists, history.AnswerLevel: ErrNotFinished, history.AnswerBusy: ErrBusy,
		history.AnswerOver: ErrSuperseded, history.AnswerNotReplay: ErrNotReplayed, history.AnswerTooLarge: ErrTooLarge,
		history.AnswerTooSlow: ErrQueryTimeout, history.AnswerRefused: ErrQueryRefused,
	}
	reason := reasons[a.Outcome]
	if reason == nil {
		reason = fmt.Errorf("%w: answer of kind %d: upgrade the client", ErrQueryRefused, a.Outcome)
	}
	return fmt.Errorf("%s: %w: %s", op, reason, a.Message)
}
