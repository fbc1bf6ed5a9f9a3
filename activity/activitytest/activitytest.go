// Package activitytest gives tests of activity code a context in which the functions of package activity work.
// No node and no store are needed.
package activitytest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Options describe the attempt. The zero value is a first attempt without a name.
type Options struct {
	Info           activity.Info
	IdempotencyKey string
	Logger         *slog.Logger // nil: slog.Default()
	Details        any          // reported by an earlier attempt with activity.Heartbeat; nil: none
}

// Attempt is an attempt of an activity that no node runs. It may be used from many goroutines at once.
type Attempt struct {
	attempt bind.Attempt
	mu      sync.Mutex
	beats   []json.RawMessage
}

// New returns an attempt and the context to call the activity with, which is derived from ctx. It panics if the details
// cannot be encoded. The attempt cannot be pending: activity.Token and activity.Defer panic.
func New(ctx context.Context, opts Options) (context.Context, *Attempt) {
	a := &Attempt{}
	i := &opts.Info
	a.attempt.Info = bind.Info{
		Activity: i.Activity, Queue: i.Queue, InstanceID: i.InstanceID, Execution: i.Execution, Local: i.Local, EventID: i.EventID,
		Attempt: i.Attempt, Deliveries: i.Deliveries, Scheduled: i.Scheduled, Deadline: i.Deadline, Session: i.Session,
		HeartbeatTimeout: i.HeartbeatTimeout, CallDeadline: provider.TimeOf(i.CallDeadline), Started: provider.TimeOf(i.Started), Node: i.Node,
	}
	a.attempt.Caller = history.EncodeCaller(history.Caller{
		Name: i.Orchestration, CodeVersion: i.CodeVersion, Header: history.EncodeHeader(i.Header),
	})
	a.attempt.Retry = stored(i.Retry)
	a.attempt.Key, a.attempt.Logger, a.attempt.Heartbeat = opts.IdempotencyKey, opts.Logger, a.beat
	if opts.Details != nil {
		data, err := json.Marshal(opts.Details)
		if err != nil {
			panic(fmt.Sprintf("activitytest: details: %v", err))
		}
		a.attempt.Details = data
	}
	return bind.WithAttempt(ctx, &a.attempt), a
}

// stored returns a retry policy as the engine keeps it.
func stored(p *activity.RetryPolicy) *history.RetryPolicy {
	if p == nil {
		return nil
	}
	r := &history.RetryPolicy{
		MaxAttempts: int64(p.MaxAttempts), InitialInterval: p.InitialInterval.Microseconds(), MaxInterval: p.MaxInterval.Microseconds(),
		Coefficient: int64(math.Round(p.Coefficient * 1000)), Jitter: int64(math.Round(p.Jitter * 1000)), MaxElapsed: p.MaxElapsed.Microseconds(),
	}
	for _, name := range p.NonRetryable {
		r.NonRetryable = append(r.NonRetryable, []byte(name))
	}
	return r
}

func (a *Attempt) beat(details []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.beats = append(a.beats, slices.Clone(details))
}

// Heartbeats returns the details of all heartbeats so far, as JSON.
func (a *Attempt) Heartbeats() []json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.beats)
}

// Interrupt calls the functions given to activity.OnInterrupt, one after the other, as a node does if the activity keeps running
// after its context has ended. The number is that of the interrupt, from 1.
func (a *Attempt) Interrupt(number int) {
	a.attempt.Interrupt(number, func(call func()) { call() })
}
