package observing

import (
	"context"
	"time"

	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// Timed returns the provider with its calls reported to the Observer, and the provider itself without one. Calls that wait for work are
// not reported: they take as long as no work comes. Nor is CommitTurn, whose request is large and which is called at one place: that calls
// Called.
func Timed(p provider.Provider, h *Hub) provider.Provider {
	if h == nil {
		return p
	}
	return &timed{Provider: p, hub: h}
}

// timed decorates the core of a provider.
type timed struct {
	provider.Provider

	hub *Hub
}

// Unwrap returns the provider that it decorates: see provider.As.
func (t *timed) Unwrap() provider.Provider { return t.Provider }

// ask makes a call and reports it. Create does the same by itself, since to pass its request on once more costs more than the report.
func ask[Req, Res any](
	ctx context.Context, t *timed, name string, fn func(context.Context, Req) (Res, error), req Req,
) (Res, error) {
	began := time.Now()
	res, err := fn(ctx, req)
	t.hub.Called(name, began, err)
	return res, err
}

// Begins returns when a call of the store begins, for Called; zero: nobody observes.
func (h *Hub) Begins() (at time.Time) {
	if h != nil {
		at = time.Now()
	}
	return at
}

// Called reports a call of the store that began at the given time.
func (h *Hub) Called(name string, began time.Time, err error) {
	if h == nil {
		return
	}
	now := time.Now()
	h.called(call{name: name, at: now, took: now.Sub(began), outcome: outcome(err)})
}

func outcome(err error) observe.Outcome {
	switch {
	case err == nil:
		return observe.OK
	case provider.OutcomeOf(err) == provider.OutcomeNothing && !provider.Retryable(err):
		return observe.Refused
	case provider.OutcomeOf(err) == provider.OutcomeUnknown:
		return observe.Unknown
	default:
		return observe.Failed
	}
}

// Create implements provider.Provider.
func (t *timed) Create(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, err error) {
	began := time.Now()
	res, err = t.Provider.Create(ctx, req)
	t.hub.Called("create", began, err)
	return res, err
}

// Get implements provider.Provider.
func (t *timed) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	if req.Wait > 0 {
		return t.Provider.Get(ctx, req)
	}
	return ask(ctx, t, "get", t.Provider.Get, req)
}

// Steer implements provider.Provider.
func (t *timed) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	return ask(ctx, t, "steer", t.Provider.Steer, req)
}

// FetchTurns implements provider.Provider.
func (t *timed) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	if req.Wait > 0 {
		return t.Provider.FetchTurns(ctx, req)
	}
	return ask(ctx, t, "fetch turns", t.Provider.FetchTurns, req)
}

// ReleaseTurns implements provider.Provider.
func (t *timed) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return ask(ctx, t, "release turns", t.Provider.ReleaseTurns, req)
}

// FetchTasks implements provider.Provider.
func (t *timed) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	if req.Wait > 0 {
		return t.Provider.FetchTasks(ctx, req)
	}
	return ask(ctx, t, "fetch tasks", t.Provider.FetchTasks, req)
}

// ReportTasks implements provider.Provider.
func (t *timed) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return ask(ctx, t, "report tasks", t.Provider.ReportTasks, req)
}

// RenewTasks implements provider.Provider.
func (t *timed) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	return ask(ctx, t, "renew tasks", t.Provider.RenewTasks, req)
}

// Send implements provider.Provider.
func (t *timed) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return ask(ctx, t, "send", t.Provider.Send, req)
}

// ReadHistory implements provider.Provider.
func (t *timed) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return ask(ctx, t, "read history", t.Provider.ReadHistory, req)
}
