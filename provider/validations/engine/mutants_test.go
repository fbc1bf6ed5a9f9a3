package engine

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// A mutant is a provider that breaks one rule. Methods left nil are those of memory.
type mutant struct {
	*provider.Full

	create  func(context.Context, provider.CreateRequest) (provider.CreateResult, error)
	get     func(context.Context, provider.GetRequest) (provider.GetResult, error)
	commit  func(context.Context, provider.CommitTurnRequest) (provider.CommitTurnResult, error)
	turns   func(context.Context, provider.FetchTurnsRequest) (provider.FetchTurnsResult, error)
	release func(context.Context, provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error)
	steer   func(context.Context, provider.SteerRequest) (provider.SteerResult, error)
	tasks   func(context.Context, provider.FetchTasksRequest) (provider.FetchTasksResult, error)
	report  func(context.Context, provider.ReportTasksRequest) (provider.ReportTasksResult, error)
	renew   func(context.Context, provider.RenewTasksRequest) (provider.RenewTasksResult, error)
	send    func(context.Context, provider.SendRequest) (provider.SendResult, error)
	history func(context.Context, provider.ReadHistoryRequest) (provider.ReadHistoryResult, error)
	remove  func(context.Context, provider.DeleteRequest) (provider.DeleteResult, error)
}

func call[Req, Res any](ctx context.Context, req Req, own, inner func(context.Context, Req) (Res, error)) (Res, error) {
	if own != nil {
		return own(ctx, req)
	}
	return inner(ctx, req)
}

func (m *mutant) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return call(ctx, req, m.create, m.Full.Create)
}

func (m *mutant) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	return call(ctx, req, m.get, m.Full.Get)
}

func (m *mutant) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return call(ctx, req, m.commit, m.Full.CommitTurn)
}

func (m *mutant) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	return call(ctx, req, m.turns, m.Full.FetchTurns)
}

func (m *mutant) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return call(ctx, req, m.release, m.Full.ReleaseTurns)
}

func (m *mutant) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	return call(ctx, req, m.steer, m.Full.Steer)
}

func (m *mutant) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	return call(ctx, req, m.tasks, m.Full.FetchTasks)
}

func (m *mutant) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return call(ctx, req, m.report, m.Full.ReportTasks)
}

func (m *mutant) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	return call(ctx, req, m.renew, m.Full.RenewTasks)
}

func (m *mutant) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return call(ctx, req, m.send, m.Full.Send)
}

func (m *mutant) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return call(ctx, req, m.history, m.Full.ReadHistory)
}

func (m *mutant) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	return call(ctx, req, m.remove, m.Full.Delete)
}

// Inspect shows the rows of memory. Its notices are not passed on: they may get lost.
func (m *mutant) Inspect(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
	inspector, _ := provider.As[provider.Inspector](m.Provider)
	return inspector.Inspect(ctx, req)
}
