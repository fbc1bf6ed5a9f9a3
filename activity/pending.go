package activity

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
)

// Errors that an activity returns in place of a result that it does not have yet. An error
// that wraps one of them means the same.
var (
	// ErrPending: the activity ends later, and its node goes on as if the function were still running: it keeps the slot, renews
	// the lease and cancels the context. The end comes through the [Completer] that the function took with [Defer], or by its
	// [Token] from anywhere. Until then the attempt is ended as any other by the start-to-close and heartbeat timeouts, a
	// cancellation, the end of the orchestration and the loss of the lease. If the node crashes, the function runs again, with
	// another token.
	ErrPending = errors.New("activity: pending, the result comes later")
	// ErrParked is ErrPending with the slot released. The activity waits in the store: no node holds it and it survives restarts.
	// It ends by its [Token], with its orchestration, by a cancellation, or by a timeout of its call. The start-to-close timeout
	// goes on while it is parked: a short one, meant for the run of the function, voids the token, and with a retry policy the
	// function runs again. So give no start-to-close timeout, or one as long as the result may take; schedule-to-close bounds the
	// whole call. The heartbeat timeout ends when it is parked.
	ErrParked = fmt.Errorf("%w: the slot is given back", ErrPending)
)

// Why an activity cannot be ended, or not in this way.
var (
	// ErrAlreadyCompleted: the activity has its result or its failure.
	ErrAlreadyCompleted = errors.New("activity: it has ended already")
	// ErrNotCancelled: the activity was not told to stop, so it cannot end as cancelled.
	ErrNotCancelled = errors.New("activity: its cancellation was not asked for")
)

// Token returns the text by which the running attempt is ended from another place: see client.CompleteActivity. It may stand in
// a URL. It is a secret: everybody with the token can end the activity. It names this attempt: with a later one it is void.
func Token(ctx context.Context) string { return later(ctx).Token() }

func later(ctx context.Context) bind.Later {
	a := attempt(ctx)
	if a.Later == nil {
		panic("activity: this attempt was made by a test: it cannot be pending")
	}
	return a.Later
}

// Completer ends an activity that has returned [ErrPending], from any goroutine of its process. Exactly one of Complete, Fail
// and ReportCancelled wins. Later ones change nothing. They return ErrAlreadyCompleted, or why the attempt has ended:
// ErrTimeout, ErrCancelled, ErrLeaseLost, ErrOrchestrationEnded, ErrOrchestrationMissing, ErrShutdown, or ErrParked, because a
// parked activity ends by its token only.
type Completer[Out any] struct {
	later bind.Later
	beat  func(details any) error
}

// Defer returns a Completer for the running attempt. Out is the output of the activity. The function then returns [ErrPending].
// If it returns something else, that counts, unless the completer was faster.
func Defer[Out any](ctx context.Context) Completer[Out] {
	l := later(ctx)
	own := context.WithoutCancel(ctx) // only the attempt of ctx counts: its scope may end with the function
	return Completer[Out]{later: l, beat: func(details any) error { return Heartbeat(own, details) }}
}

// Complete ends the activity with its output. As with one that is returned, the result is stored soon after. If the node is
// lost before that, the activity runs again. An output that cannot be stored is an error and ends nothing.
func (c Completer[Out]) Complete(out Out) error {
	data, err := payload.EncodeExact(out)
	if err != nil {
		return failure.New(failure.ErrPayload, "output: %v: give what encoding/json can write", err)
	}
	return c.made().End(data, nil)
}

// Fail ends the attempt with an error, as if the function had returned it: the retry policy decides whether there is another
// attempt.
func (c Completer[Out]) Fail(err error) error {
	if err == nil {
		return failure.New(failure.ErrInvalid, "failing an activity: give the error")
	}
	return c.made().End(nil, err)
}

// ReportCancelled ends the activity because it was told to stop. It returns ErrNotCancelled if it was not.
func (c Completer[Out]) ReportCancelled() error {
	cause := c.made().Cause()
	if cause == nil {
		return ErrNotCancelled
	}
	return c.made().End(nil, cause)
}

// Heartbeat is the function [Heartbeat] for an attempt that is pending. It returns why the work should stop.
func (c Completer[Out]) Heartbeat(details any) error {
	c.made()
	if err := c.beat(details); err != nil {
		return err
	}
	return c.made().Cause()
}

// Token is the function [Token].
func (c Completer[Out]) Token() string { return c.made().Token() }

// made panics for a Completer that belongs to no attempt.
func (c Completer[Out]) made() bind.Later {
	if c.later == nil {
		panic("activity: this Completer belongs to no activity: take it with activity.Defer")
	}
	return c.later
}
