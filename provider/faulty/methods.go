package faulty

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// Create implements provider.Provider.
func (p *Provider) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return call(ctx, p, Create, req, p.inner.Create)
}

// Steer implements provider.Provider.
func (p *Provider) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	return call(ctx, p, Steer, req, p.inner.Steer)
}

// ReleaseTurns implements provider.Provider.
func (p *Provider) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return call(ctx, p, ReleaseTurns, req, p.inner.ReleaseTurns)
}

// Send implements provider.Provider.
func (p *Provider) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return call(ctx, p, Send, req, p.inner.Send)
}

// Ask implements provider.Asker.
func (p *Provider) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	return call(ctx, p, Ask, req, p.inner.Ask)
}

// ReadHistory implements provider.Provider.
func (p *Provider) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return call(ctx, p, ReadHistory, req, p.inner.ReadHistory)
}

// List implements provider.Lister.
func (p *Provider) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	return call(ctx, p, List, req, p.inner.List)
}

// Count implements provider.Lister.
func (p *Provider) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	return call(ctx, p, Count, req, p.inner.Count)
}

// ListTasks implements provider.TaskLister.
func (p *Provider) ListTasks(ctx context.Context, req provider.ListTasksRequest) (provider.ListTasksResult, error) {
	return call(ctx, p, ListTasks, req, p.inner.ListTasks)
}

// FailureGroups implements provider.FailureGrouper.
func (p *Provider) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	return call(ctx, p, FailureGroups, req, p.inner.FailureGroups)
}

// Stats implements provider.Meter.
func (p *Provider) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	return call(ctx, p, Stats, req, p.inner.Stats)
}

// Delete implements provider.Cleaner.
func (p *Provider) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	return call(ctx, p, Delete, req, p.inner.Delete)
}

// Prune implements provider.Cleaner.
func (p *Provider) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	return call(ctx, p, Prune, req, p.inner.Prune)
}

// DeadLetters implements provider.Redriver.
func (p *Provider) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	return call(ctx, p, DeadLetters, req, p.inner.DeadLetters)
}

// Lease implements provider.Keeper.
func (p *Provider) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	return call(ctx, p, Lease, req, p.inner.Lease)
}

// Record implements provider.Keeper.
func (p *Provider) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	return call(ctx, p, Record, req, p.inner.Record)
}
