package activity

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
)

// Info describes one attempt of an activity.
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
	CallDeadline     time.Time // of all attempts together, by the schedule-to-close timeout; zero: none
	Started          time.Time // when the attempt began, by the storage's clock
	Node             string    // that runs the attempt; it is the name in leases and logs
	// Orchestration and CodeVersion are of the code that called the activity. They are empty, as is Header, for a call that
	// was stored while nodes of a release before level 8 could use the store; see the command upgrade.
	Orchestration string
	CodeVersion   string
	Header        header.Map   // of the start of the instance; a copy; nil: none
	Retry         *RetryPolicy // a copy; nil: the activity is tried once
}

// RetryPolicy says when the attempt is tried again after a failure. It is orchestration.RetryPolicy, which explains the fields,
// with its defaults filled in.
type RetryPolicy struct {
	MaxAttempts     int // all attempts together; 0: no limit
	InitialInterval time.Duration
	MaxInterval     time.Duration
	Coefficient     float64
	Jitter          float64 // 0: none
	NonRetryable    []string
	MaxElapsed      time.Duration // 0: no limit
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

// GetInfo returns what is known of the running attempt. Like all functions of this package it panics with a context that is not
// of an activity.
func GetInfo(ctx context.Context) Info {
	a := attempt(ctx)
	i, of := &a.Info, history.DecodeCaller(a.Caller)
	h := history.DecodeHeader(of.Header)
	if delete(h, history.TraceKey); len(h) == 0 { // the engine's own
		h = nil
	}
	return Info{
		Activity: i.Activity, Queue: i.Queue, InstanceID: i.InstanceID, Execution: i.Execution, Local: i.Local, EventID: i.EventID,
		Attempt: i.Attempt, Deliveries: i.Deliveries, Scheduled: i.Scheduled, Deadline: i.Deadline, Session: i.Session,
		HeartbeatTimeout: i.HeartbeatTimeout, CallDeadline: i.CallDeadline.Std(), Started: i.Started.Std(), Node: i.Node,
		Orchestration: of.Name, CodeVersion: of.CodeVersion, Header: h, Retry: policy(a.Retry),
	}
}

// policy returns a stored policy in its public form.
func policy(p *history.RetryPolicy) *RetryPolicy {
	if p == nil {
		return nil
	}
	shown := &RetryPolicy{
		MaxAttempts: int(p.MaxAttempts), InitialInterval: span(p.InitialInterval), MaxInterval: span(p.MaxInterval),
		Coefficient: float64(p.Coefficient) / 1000, Jitter: float64(p.Jitter) / 1000, MaxElapsed: span(p.MaxElapsed),
	}
	for _, name := range p.NonRetryable {
		shown.NonRetryable = append(shown.NonRetryable, string(name))
	}
	return shown
}

// span converts microseconds; the longest duration was rounded up when it was stored.
func span(micros int64) time.Duration {
	return time.Duration(min(micros, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

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
		a.Heartbeat(nil)
		return context.Cause(ctx)
	}
	data, err := payload.EncodeExact(details)
	if err != nil {
		return failure.New(failure.ErrPayload, "heartbeat details: %v: give what encoding/json can write", err)
	}
	if len(data) > bind.MaxDetails {
		return failure.New(failure.ErrTooLarge, "heartbeat details: %d bytes, at most %d fit: store them elsewhere and report a reference",
			len(data), bind.MaxDetails)
	}
	a.Heartbeat(data)
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
