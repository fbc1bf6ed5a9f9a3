package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// waitSlice is how long one call of the storage blocks.
const waitSlice = 30 * time.Second

// slack is how much longer the call may take before it is abandoned.
const slack = 10 * time.Second

// WaitOption is an option of Wait.
type WaitOption interface {
	applyWait(o *waitOptions) error
}

type waitOptions struct{ blocked, accepted bool }

type waitFunc func(o *waitOptions) error

func (f waitFunc) applyWait(o *waitOptions) error { return f(o) }

// OrBlocked makes Wait return a *BlockedError as soon as the instance is blocked. Without it Wait
// continues until the instance is unblocked and ends.
func OrBlocked() WaitOption {
	return waitFunc(func(o *waitOptions) error {
		o.blocked = true
		return nil
	})
}

// BlockedError says that an instance cannot continue: its code panics, does not match its history, or crashes nodes. It
// continues when the code is fixed or a person unblocks it. It is ErrBlocked.
type BlockedError struct {
	Blocked

	ID  string
	Key provider.UUID
}

// Error implements error.
func (e *BlockedError) Error() string {
	next := "it is held until somebody unblocks it"
	if !e.RetryAt.IsZero() {
		next = "it is tried again at " + e.RetryAt.Format(time.RFC3339)
	}
	return fmt.Sprintf("instance %q is blocked (%s, %d failed turns): %s: mend the cause; %s", e.ID, e.Reason, e.Count, e.Message, next)
}

// Is makes errors.Is(err, ErrBlocked) true.
func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }

// outcomeError is the end of an instance without an output.
type outcomeError struct {
	id     string
	status provider.Status
	err    error
}

func (e *outcomeError) Error() string {
	return fmt.Sprintf("instance %q ended as %s: %v", e.id, e.status, e.err)
}

func (e *outcomeError) Unwrap() error { return e.err }

func (e *outcomeError) Is(target error) bool { return target == ErrFailed }

// Wait blocks until the instance has ended and returns its output. Until ctx is done, it waits across continue-as-new
// and failures of the storage. It may be called at any time, after the end too.
//
// The error is ErrFailed if the instance ended without an output. Its cause is the error that the code returned, or
// ErrCancelled or ErrTerminated of package orchestration if it ended that way. It is ErrBlocked with OrBlocked,
// ErrNotFound if the instance was deleted, orchestration.ErrPayload if the output is no Out, or the error of ctx.
func (h Handle[Out]) Wait(ctx context.Context, opts ...WaitOption) (Out, error) {
	var none Out
	if err := h.usable(ctx); err != nil {
		return none, err
	}
	var o waitOptions
	if err := bind.Apply(opts, func(opt WaitOption) error { return opt.applyWait(&o) }); err != nil {
		return none, fmt.Errorf("waiting for %s: %w: %w", h.t, ErrInvalid, err)
	}
	if o.accepted {
		return none, fmt.Errorf("waiting for %s: %w: UntilAccepted is for updates, give it to Update or to UpdateHandle.Wait", h.t, ErrInvalid)
	}
	i, err := h.c.store.ended(ctx, h.t, o)
	if err != nil {
		return none, err
	}
	output, err := outcome(h.c.errors, &i)
	if err != nil {
		return none, err
	}
	out, err := bind.Output[Out](output)
	if err != nil {
		return none, h.c.errors.New(orchestration.ErrPayload, "instance %q has completed: %w: give the handle the output type of %s", i.ID, err, i.Name)
	}
	return out, nil
}

// ended waits for the end of an instance, in slices.
func (s *storage) ended(ctx context.Context, t target, o waitOptions) (provider.Instance, error) {
	doing := fmt.Sprintf("waiting for %s", t)
	req := provider.GetRequest{Key: t.key, WaitEnded: true, WaitBlocked: o.blocked, Wait: waitSlice}
	for {
		var i provider.Instance
		_, err := s.repeat(ctx, doing, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, waitSlice+slack)
			defer cancel()
			res, err := s.Get(ctx, req)
			i = res.Instance
			return err
		})
		switch {
		case err != nil:
			return i, explain(doing, 0, err)
		case i.Status.Ended():
			return i, nil
		case o.blocked && i.Blocked != nil:
			return i, &BlockedError{ID: i.ID, Key: i.Key, Blocked: *blocked(i.Blocked)}
		}
	}
}

// outcome returns the encoded output of an ended instance, or the error that it ended with.
func outcome(errs *failure.Set, i *provider.Instance) ([]byte, error) {
	o, err := history.DecodeOutcome(i.Result)
	if err != nil {
		return nil, fmt.Errorf("instance %q has ended (%s), but its result cannot be read: %w", i.ID, i.Status, err)
	}
	if i.Status == provider.StatusCompleted && o.Failure == nil {
		return o.Output, nil
	}
	cause := errors.New("no reason is stored")
	if o.Failure != nil {
		cause = errs.Decode(*o.Failure)
	}
	return nil, &outcomeError{id: i.ID, status: i.Status, err: withStatus(errs, cause, i.Status)}
}

// withStatus makes sure that the error says how the instance ended. Code may have wrapped the cancellation so deep that it
// was not stored.
func withStatus(errs *failure.Set, cause error, status provider.Status) error {
	switch {
	case status == provider.StatusCancelled && !errors.Is(cause, orchestration.ErrCancelled):
		return errs.New(orchestration.ErrCancelled, "cancelled: %w", cause)
	case status == provider.StatusTerminated && !errors.Is(cause, orchestration.ErrTerminated):
		return errs.New(orchestration.ErrTerminated, "terminated: %w", cause)
	default:
		return cause
	}
}
