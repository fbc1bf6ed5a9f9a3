package fileprovider

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/kit"
)

// The names of the calls in the journal. They are stored, so they must never change.
const (
	opCreate       = "create"
	opSteer        = "steer"
	opFetchTurns   = "fetch turns"
	opCommitTurn   = "commit turn"
	opReleaseTurns = "release turns"
	opFetchTasks   = "fetch tasks"
	opReportTasks  = "report tasks"
	opRenewTasks   = "renew tasks"
	opSteerTask    = "steer task"
	opReset        = "reset"
	opFork         = "fork"
	opSend         = "send"
	opDelete       = "delete"
	opPrune        = "prune"
	opDeadLetters  = "dead letters"
	opLease        = "lease"
	opRecord       = "record"
)

// Create implements provider.Provider.
func (p *Provider) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return write(ctx, p, opCreate, req, p.state.Create)
}

// Get implements provider.Provider. An ID resolves to the same instance at each look, never to its successor.
func (p *Provider) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	wait, began := req.Wait, time.Now()
	if !req.Waits() {
		wait = 0
	}
	if err := req.Validate(); err != nil {
		return provider.GetResult{}, err
	}
	req.Wait = 0
	return kit.Block(ctx, p.hub, wait, func() (provider.GetResult, bool, error) {
		res, err := read(ctx, p, "get", req, p.state.Get)
		if err != nil {
			return res, false, err
		}
		req.Key = res.Instance.Key
		early := req.Mark != "" && time.Since(began) < provider.MarkPace
		return res, !early && req.Ends(&res), nil
	})
}

// Steer implements provider.Provider.
func (p *Provider) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	return write(ctx, p, opSteer, req, p.state.Steer)
}

// FetchTurns implements provider.Provider. An empty result changes nothing.
func (p *Provider) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchTurnsResult{}, err
	}
	wait := req.Wait
	req.Wait = 0
	found := func(res provider.FetchTurnsResult) bool { return len(res.Turns) > 0 }
	return kit.Block(ctx, p.hub, wait, func() (provider.FetchTurnsResult, bool, error) {
		res, err := apply(ctx, p, opFetchTurns, req, p.state.FetchTurns, found)
		return res, found(res), err
	})
}

// CommitTurn implements provider.Provider.
func (p *Provider) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return write(ctx, p, opCommitTurn, req, p.state.CommitTurn)
}

// ReleaseTurns implements provider.Provider.
func (p *Provider) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return write(ctx, p, opReleaseTurns, releaseTurns{req}, releasing(p.state))
}

// FetchTasks implements provider.Provider. An empty result changes nothing, unless it has extended sessions.
func (p *Provider) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchTasksResult{}, err
	}
	wait := req.Wait
	req.Wait = 0
	found := func(res provider.FetchTasksResult) bool { return len(res.Tasks) > 0 }
	changed := func(res provider.FetchTasksResult) bool { return found(res) || res.Sessions > 0 }
	return kit.Block(ctx, p.hub, wait, func() (provider.FetchTasksResult, bool, error) {
		res, err := apply(ctx, p, opFetchTasks, req, p.state.FetchTasks, changed)
		return res, found(res), err
	})
}

// ReportTasks implements provider.Provider.
func (p *Provider) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return write(ctx, p, opReportTasks, req, p.state.ReportTasks)
}

// RenewTasks implements provider.Provider.
func (p *Provider) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	return write(ctx, p, opRenewTasks, req, p.state.RenewTasks)
}

// SteerTask implements provider.TaskSteerer.
func (p *Provider) SteerTask(ctx context.Context, req provider.SteerTaskRequest) (provider.SteerTaskResult, error) {
	return write(ctx, p, opSteerTask, req, p.state.SteerTask)
}

// Reset implements provider.Opener.
func (p *Provider) Reset(ctx context.Context, req provider.ResetRequest) (provider.SteerResult, error) {
	return write(ctx, p, opReset, req, p.state.Reset)
}

// Fork implements provider.Opener.
func (p *Provider) Fork(ctx context.Context, req provider.ForkRequest) (provider.CreateResult, error) {
	return write(ctx, p, opFork, req, p.state.Fork)
}

// Send implements provider.Provider.
func (p *Provider) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return write(ctx, p, opSend, req, p.state.Send)
}

// ReadHistory implements provider.Provider.
func (p *Provider) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return read(ctx, p, "read history", req, p.state.ReadHistory)
}

// List implements provider.Lister.
func (p *Provider) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	return read(ctx, p, "list", req, p.state.List)
}

// Count implements provider.Lister.
func (p *Provider) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	return read(ctx, p, "count", req, p.state.Count)
}

// ListTasks implements provider.TaskLister.
func (p *Provider) ListTasks(ctx context.Context, req provider.ListTasksRequest) (provider.ListTasksResult, error) {
	return read(ctx, p, "list tasks", req, p.state.ListTasks)
}

// FailureGroups implements provider.FailureGrouper.
func (p *Provider) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	return read(ctx, p, "failure groups", req, p.state.FailureGroups)
}

// Stats implements provider.Meter.
func (p *Provider) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	return read(ctx, p, "stats", req, p.state.Stats)
}

// Delete implements provider.Cleaner.
func (p *Provider) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	return write(ctx, p, opDelete, req, p.state.Delete)
}

// Prune implements provider.Cleaner.
func (p *Provider) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	return write(ctx, p, opPrune, req, p.state.Prune)
}

// DeadLetters implements provider.Redriver.
func (p *Provider) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	return apply(ctx, p, opDeadLetters, req, p.state.DeadLetters, func(provider.DeadLettersResult) bool {
		return req.Action != provider.DeadLettersList
	})
}

// Lease implements provider.Keeper.
func (p *Provider) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	return write(ctx, p, opLease, req, p.state.Lease)
}

// Record implements provider.Keeper.
func (p *Provider) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	return apply(ctx, p, opRecord, req, p.state.Record, func(provider.RecordResult) bool {
		return req.Action == provider.RecordPut || req.Action == provider.RecordDelete
	})
}

// Inspect implements provider.Inspector.
func (p *Provider) Inspect(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
	return read(ctx, p, "inspect", req, p.state.Inspect)
}
