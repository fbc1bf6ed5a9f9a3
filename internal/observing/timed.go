package observing

import (
	"context"
	"time"

	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// Timed returns the provider with its calls reported to the Observer, and the provider itself without one. Calls that wait for work are
// not reported: they take as long as no work comes.
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

// ask makes a call and reports it. The calls of each turn do the same by themselves: to pass their requests on once more costs more than
// the report.
func ask[Req, Res any](
	ctx context.Context, t *timed, name string, fn func(context.Context, Req) (Res, error), req Req,
) (Res, error) {
	began := time.Now()
	res, err := fn(ctx, req)
	t.done(name, began, err)
	return res, err
}

// done reports a call.
func (t *timed) done(name string, began time.Time, err error) {
	now := time.Now()
	t.hub.called(call{name: name, at: now, took: now.Sub(began), outcome: outcome(err)})
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
	t.done("create", began, err)
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

// CommitTurn implements provider.Provider.
func (t *timed) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (res provider.CommitTurnResult, err error) {
	began := time.Now()
	res, err = t.Provider.CommitTurn(ctx, req)
	t.done("commit turn", began, err)
	return res, err
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
