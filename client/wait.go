package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/provider"
)

// waitSlice is how long one call of the storage blocks.
const waitSlice = 30 * time.Second

// slack is how much longer the call may take before it is abandoned.
const slack = 10 * time.Second

// blocking returns a context for a call of the storage that blocks for waitSlice.
func blocking(ctx context.Context) (context.Context, context.CancelFunc) {
	return bubble.Timeout(ctx, waitSlice+slack)
}

// WaitOption is an option of Wait.
type WaitOption interface {
	applyWait(o *waitOptions) error
}

type waitOptions struct{ blocked, accepted bool }

// OrBlocked makes Wait or Update return a *BlockedError as soon as the instance is blocked. Without it they
// continue until the instance is unblocked and ends, or has the outcome. An update that was sent stays sent.
func OrBlocked() Blockage { return Blockage{} }

// BlockedError says that an instance cannot continue: its code panics, does not match its history, or crashes nodes. It
// continues when the code is fixed or a person unblocks it. It is ErrBlocked. Its text names the first place of the user's code in the stack, which
// Message has in full.
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
	return fmt.Sprintf("instance %q is blocked (%s, %d failed turns): %s: mend the cause; %s", e.ID, e.Reason, e.Count, brief(e.Message), next)
}

// Is makes errors.Is(err, ErrBlocked) true.
func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }

// Wait blocks until the instance has ended and returns its output. Until ctx is done, it waits across continue-as-new
// and failures of the storage. It may be called at any time, after the end too.
//
// The error is ErrFailed if the instance ended without an output. Its cause is the error that the code returned, or
// ErrCancelled or ErrTerminated of package orchestration if it ended that way. It is ErrBlocked with OrBlocked,
// ErrMoved within half a minute if the instance has moved to another store, ErrNotFound if it was deleted,
// orchestration.ErrPayload if the output is no Out, or the error of ctx.
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
	return resultOf[Out](h.c, &i)
}

// ended waits for the end of an instance, in slices.
func (s *storage) ended(ctx context.Context, t access.Target, o waitOptions) (provider.Instance, error) {
	op := fmt.Sprintf("waiting for %s", t)
	req := provider.GetRequest{Key: t.Key, WaitEnded: true, WaitBlocked: o.blocked, Wait: waitSlice}
	for {
		var i provider.Instance
		_, err := s.Repeat(ctx, op, func(ctx context.Context) error {
			ctx, cancel := blocking(ctx)
			defer cancel()
			res, err := s.Get(ctx, req)
			i = res.Instance
			return err
		})
		switch {
		case err != nil:
			return i, access.Explain(op, 0, err)
		case i.Status.Ended():
			return i, nil
		case i.Deleting && s.moved(ctx, t):
			return i, access.Explain(op, 0, ErrMoved)
		case o.blocked && i.Blocked != nil:
			return i, &BlockedError{ID: i.ID, Key: i.Key, Blocked: *blocked(i.Blocked)}
		}
	}
}

// moved reports whether an instance that is hidden from nodes moves to another store. The others are being deleted.
func (s *storage) moved(ctx context.Context, t access.Target) bool {
	_, err := s.Write(ctx, "looking whether "+t.String()+" moves", func(ctx context.Context) error {
		_, err := s.Steer(ctx, changeless(t.Key, ""))
		return err
	})
	return errors.Is(err, ErrMoved)
}

// changeless returns a request that changes nothing: no message has its ID. The instance refuses it as it would any other.
func changeless(key provider.UUID, requestID string) provider.SteerRequest {
	return provider.SteerRequest{
		Key: key, Action: provider.SteerDrop, MessageID: math.MaxInt64, Reason: "none", Commit: provider.UUID(uuid.New()), RequestID: requestID,
	}
}
