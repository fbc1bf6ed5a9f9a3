package validations

import (
	"context"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// A tracer notes which method was called last, so that a failure can name it.
type tracer struct {
	provider.Provider

	last atomic.Value
}

// Unwrap makes the optional features of the provider reachable.
func (c *tracer) Unwrap() provider.Provider { return c.Provider }

// note notes a call and returns the provider.
func (c *tracer) note(method string) provider.Provider {
	c.last.Store(method)
	return c.Provider
}

// after names the last call; "" if there was none.
func (c *tracer) after() string {
	if method, ok := c.last.Load().(string); ok {
		return "after " + method + ": "
	}
	return ""
}

func (c *tracer) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return c.note("Create").Create(ctx, req)
}

func (c *tracer) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	return c.note("Get").Get(ctx, req)
}

func (c *tracer) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	return c.note("Steer").Steer(ctx, req)
}

func (c *tracer) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	return c.note("FetchTurns").FetchTurns(ctx, req)
}

func (c *tracer) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return c.note("CommitTurn").CommitTurn(ctx, req)
}

func (c *tracer) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return c.note("ReleaseTurns").ReleaseTurns(ctx, req)
}

func (c *tracer) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	return c.note("FetchTasks").FetchTasks(ctx, req)
}

func (c *tracer) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return c.note("ReportTasks").ReportTasks(ctx, req)
}

func (c *tracer) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	return c.note("RenewTasks").RenewTasks(ctx, req)
}

func (c *tracer) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return c.note("Send").Send(ctx, req)
}

func (c *tracer) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	return c.note("Ask").Ask(ctx, req)
}

func (c *tracer) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	return c.note("FetchAsks").FetchAsks(ctx, req)
}

func (c *tracer) Answer(ctx context.Context, req provider.AnswerRequest) error {
	return c.note("Answer").Answer(ctx, req)
}

func (c *tracer) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return c.note("ReadHistory").ReadHistory(ctx, req)
}

func (c *tracer) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	return c.note("List").List(ctx, req)
}

func (c *tracer) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	return c.note("Count").Count(ctx, req)
}

func (c *tracer) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	return c.note("Stats").Stats(ctx, req)
}

func (c *tracer) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	return c.note("Delete").Delete(ctx, req)
}

func (c *tracer) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	return c.note("Prune").Prune(ctx, req)
}

func (c *tracer) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	return c.note("DeadLetters").DeadLetters(ctx, req)
}

func (c *tracer) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	return c.note("Lease").Lease(ctx, req)
}

func (c *tracer) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	return c.note("Record").Record(ctx, req)
}

func (c *tracer) Close() error { return c.note("Close").Close() }
