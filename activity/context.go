package activity

import (
	"context"
	"log/slog"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
)

// Info identifies one attempt of an activity.
type Info struct {
	Activity   string // stored name of the activity
	Queue      string
	InstanceID string // of the orchestration that waits for the result
	Execution  int64  // of that instance, from 1
	Local      bool   // it runs inside a turn: see orchestration.CallLocal; EventID is 0 then
	EventID    int64  // of the event that scheduled it; (InstanceID, Execution, EventID) is the same for every attempt
	Attempt    int    // from 1; grows by failures and timeouts that are retried, not by crashes
	Deliveries int    // from 1; grows when a node is lost while it runs this attempt
	Scheduled  time.Time
	Deadline   time.Time // of this attempt; zero: none
	Session    string    // that this node holds for it; "": none
	// HeartbeatTimeout is how long the attempt may go without a heartbeat; 0: no limit.
	HeartbeatTimeout time.Duration
}

// IdempotencyKey returns a string that is the same for every attempt of this call and
// unique to it, also among later instances with the same ID. Pass it to services that drop repeats.
func IdempotencyKey(ctx context.Context) string { return attempt(ctx).Key }

// attempt panics for a context that is not of an activity: the code would report progress of nothing.
func attempt(ctx context.Context) *bind.Attempt {
	if a := bind.AttemptOf(ctx); a != nil {
		return a
	}
	panic("activity: the context is not one that an activity was given: pass that, or one derived from it")
}

// GetInfo returns the identity of the running attempt. Like all functions of this package it panics with a context that is not
// of an activity.
func GetInfo(ctx context.Context) Info { return Info(attempt(ctx).Info) }

// Logger returns a logger that names the attempt in each record.
func Logger(ctx context.Context) *slog.Logger { return attempt(ctx).Named() }

// Heartbeat reports progress and a sign of life. The details, encoded as JSON, reach the next attempt, and are shown with the
// instance. nil details keep those of before: the call is a sign of life only. It never blocks, and may be called at any rate:
// the first details are stored at once, later ones at most every 80 % of the heartbeat timeout of the call, or every 30 s if it
// has none; see runtime.HeartbeatOptions. The last ones are stored when the attempt fails, is cancelled or is released. So only
// the loss of a node loses some. It returns why the activity should stop - the cause of the context's end - or nil, or an error
// if details cannot be encoded or have more than 256 KiB.
func Heartbeat(ctx context.Context, details any) error {
	a := attempt(ctx)
	if details == nil {
		a.Beat(nil)
		return context.Cause(ctx)
	}
	data, err := payload.Encode(details)
	if err != nil {
		return failure.New(failure.ErrPayload, "heartbeat details: %v: give what encoding/json can write", err)
	}
	if len(data) > bind.MaxDetails {
		return failure.New(failure.ErrTooLarge, "heartbeat details: %d bytes, at most %d fit: store them elsewhere and report a reference",
			len(data), bind.MaxDetails)
	}
	a.Beat(data)
	return context.Cause(ctx)
}

// HeartbeatDetails returns the details that the last attempt reported; ok is false if there are none. An error means that they
// cannot be decoded into T.
func HeartbeatDetails[T any](ctx context.Context) (details T, ok bool, err error) {
	data := attempt(ctx).Details
	if data == nil {
		return details, false, nil
	}
	if err := payload.Decode(data, &details); err != nil {
		return details, false, failure.New(failure.ErrPayload, "heartbeat details of the last attempt: %v: ask for the type that it reported", err)
	}
	return details, true, nil
}
