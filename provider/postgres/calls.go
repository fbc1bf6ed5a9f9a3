package postgres

import (
	"context"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// The calls that change instances: what each needs, and which rule of package relational it follows.

// Create implements [provider.Provider].
func (p *Provider) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if err := req.Validate(); err != nil {
		return provider.CreateResult{}, err
	}
	return write(ctx, p, "create", len(req.Message.Payload), relational.CreateNeeds(&req),
		func(t *relational.Tx, res *provider.CreateResult) error { return t.Create(&req, res) })
}

// Steer implements [provider.Provider].
func (p *Provider) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	if err := req.Validate(); err != nil {
		return provider.SteerResult{}, err
	}
	size := len(req.Event) + len(req.Result)
	for _, e := range req.Events {
		size += len(e)
	}
	return write(ctx, p, "steer", size, relational.NamedNeeds(req.ID, req.Key),
		func(t *relational.Tx, res *provider.SteerResult) error { return t.Steer(&req, res) })
}

// CommitTurn implements [provider.Provider].
func (p *Provider) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if err := req.Validate(); err != nil {
		return provider.CommitTurnResult{}, err
	}
	return write(ctx, p, "commit turn", relational.CommitBytes(&req), relational.CommitNeeds(&req),
		func(t *relational.Tx, res *provider.CommitTurnResult) error { return t.CommitTurn(&req, res) })
}

// ReleaseTurns implements [provider.Provider].
func (p *Provider) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	if err := req.Validate(); err != nil {
		return provider.ReleaseTurnsResult{}, err
	}
	return write(ctx, p, "release turns", 0, relational.ReleaseNeeds(&req),
		func(t *relational.Tx, res *provider.ReleaseTurnsResult) error { return t.ReleaseTurns(&req, res) })
}

// ReportTasks implements [provider.Provider].
func (p *Provider) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.ReportTasksResult{}, err
	}
	size := 0
	for i := range req.Items {
		size += len(req.Items[i].Message.Payload) + len(req.Items[i].Details) + len(req.Items[i].Failure)
	}
	return write(ctx, p, "report tasks", size, relational.ReportNeeds(&req),
		func(t *relational.Tx, res *provider.ReportTasksResult) error { return t.ReportTasks(&req, res) })
}

// RenewTasks implements [provider.Provider]. Renewals have a queue of their own.
func (p *Provider) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.RenewTasksResult{}, err
	}
	size := 0
	for i := range req.Items {
		size += len(req.Items[i].Details)
	}
	m, out := newMember("renew tasks", size, relational.RenewNeeds(&req),
		func(t *relational.Tx, res *provider.RenewTasksResult) error { return t.RenewTasks(&req, res) })
	return enqueue(ctx, p, p.writer.renewals, m, out)
}

// Send implements [provider.Provider].
func (p *Provider) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	if err := req.Validate(); err != nil {
		return provider.SendResult{}, err
	}
	return write(ctx, p, "send", len(req.Message.Payload), relational.NamedNeeds(req.ID, req.Key),
		func(t *relational.Tx, res *provider.SendResult) error { return t.Send(&req, res) })
}

// Notify implements [provider.Notifier]: it tells of what any process commits.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) { return p.hub.Notify(fn) }
