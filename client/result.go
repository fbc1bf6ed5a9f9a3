package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// ErrNotEnded is the error of Result while the instance runs.
var ErrNotEnded = errors.New("the instance has not ended")

// Result returns the output of the instance without waiting. The error is ErrNotEnded while the instance runs, and else one of
// [Handle.Wait].
func (h Handle[Out]) Result(ctx context.Context) (Out, error) {
	var none Out
	if err := h.usable(ctx); err != nil {
		return none, err
	}
	res, err := h.c.store.Instance(ctx, h.t, fmt.Sprintf("reading the result of %s", h.t), false)
	if err != nil {
		return none, err
	}
	return resultOf[Out](h.c, &res.Instance)
}

// Result returns the output of the instance that the ID names now as JSON, without waiting. To wait, use Lookup and
// [Handle.Wait]; the output type json.RawMessage keeps the JSON as it is. Errors are those of [Handle.Result].
func (c *Client) Result(ctx context.Context, id string) (json.RawMessage, error) {
	op := fmt.Sprintf("reading the result of %s", access.Target{ID: id})
	if err := c.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	res, err := c.store.Instance(ctx, access.Target{ID: id}, op, false)
	if err != nil {
		return nil, err
	}
	return resultOf[json.RawMessage](c, &res.Instance)
}

// resultOf decodes the output of an instance.
func resultOf[Out any](c *Client, i *provider.Instance) (out Out, err error) {
	if !i.Status.Ended() {
		return out, fmt.Errorf("instance %q: %w (%s)", i.ID, ErrNotEnded, i.Status)
	}
	output, err := outcome(c.errors, i)
	if err != nil {
		return out, err
	}
	if out, err = bind.Output[Out](output); err != nil {
		var none Out
		return none, c.errors.New(orchestration.ErrPayload, "instance %q has completed: %w: give the handle the output type of %s", i.ID, err, i.Name)
	}
	return out, nil
}

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
	return nil, &outcomeError{id: i.ID, status: i.Status, err: withLimit(errs, withStatus(errs, cause, i.Status), i)}
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
