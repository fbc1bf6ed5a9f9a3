package validations

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// brokenUnknown lists mutants that store half of a call whose caller gave up.
func brokenUnknown() []brokenRule {
	return []brokenRule{
		{name: "a lease is acquired though the context was finished", caught: "unknown/finished-before", breaks: ignoresFinished},
		{name: "a create that is cut off has no start message", caught: "unknown/create", breaks: func(m *mutant) {
			halve(&m.create, func(r *provider.CreateRequest) { r.Message.Payload = nil })
		}},
		{name: "a commit that is cut off has no tasks", caught: "unknown/commit", breaks: func(m *mutant) {
			halve(&m.commit, func(r *provider.CommitTurnRequest) { r.Tasks = nil })
		}},
		{name: "a close that is cut off has no result", caught: "unknown/close", breaks: func(m *mutant) {
			halve(&m.commit, func(r *provider.CommitTurnRequest) { r.Result = nil })
		}},
		{name: "a termination that is cut off has no event", caught: "unknown/steer", breaks: func(m *mutant) {
			halve(&m.steer, func(r *provider.SteerRequest) { r.Event = nil })
		}},
		{name: "a message that is cut off is stored in part", caught: "unknown/send", breaks: func(m *mutant) {
			halve(&m.send, func(r *provider.SendRequest) { r.Message.Payload = r.Message.Payload[:3] })
		}},
		{name: "a fetch that is cut off leases by an unknown token", caught: "unknown/fetch-turns", breaks: func(m *mutant) {
			halve(&m.turns, func(r *provider.FetchTurnsRequest) { r.Token = unique() })
		}},
		{name: "a fetch of tasks that is cut off leases by an unknown token", caught: "unknown/fetch-tasks", breaks: func(m *mutant) {
			halve(&m.tasks, func(r *provider.FetchTasksRequest) { r.Token = unique() })
		}},
		{name: "a release that is cut off counts the delivery", caught: "unknown/release-turns", breaks: func(m *mutant) {
			halve(&m.release, func(r *provider.ReleaseTurnsRequest) {
				r.Items[0].Kind, r.Items[0].Failure = provider.ReleaseFailed, &provider.TurnFailure{Reason: "half"}
			})
		}},
		{name: "a report that is cut off has no result", caught: "unknown/report", breaks: func(m *mutant) {
			halve(&m.report, func(r *provider.ReportTasksRequest) { r.Items[0].Message.Payload = nil })
		}},
		{name: "a renewal that is cut off loses the lease", caught: "unknown/renew", breaks: losesCutRenewals},
		{name: "an answer that is cut off is empty", caught: "unknown/answer", breaks: func(m *mutant) {
			halve(&m.answer, func(r *provider.AnswerRequest) { r.Payload = nil })
		}},
		{name: "a delete that is cut off leaves a child for ever", caught: "unknown/delete", breaks: orphansWhenCut},
		{name: "a prune that is cut off deletes running instances", caught: "unknown/prune", breaks: prunesAllWhenCut},
		{name: "a letter whose redrive is cut off is gone", caught: "unknown/redrive", breaks: func(m *mutant) {
			halve(&m.letters, func(r *provider.DeadLettersRequest) { r.Action = provider.DeadLettersDiscard })
		}},
		{name: "an acquisition that is cut off holds the lease by no token", caught: "unknown/lease", breaks: func(m *mutant) {
			halve(&m.lease, func(r *provider.LeaseRequest) { r.Token = unique() })
		}},
		{name: "a record that is cut off is stored in part", caught: "unknown/record", breaks: func(m *mutant) {
			halve(&m.record, func(r *provider.RecordRequest) { r.Value = r.Value[:2] })
		}},
	}
}

// isCut waits for the end of a caller that gives up soon and reports whether it did.
func isCut(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	if !ok || time.Until(deadline) > short || ctx.Err() != nil {
		return false
	}
	<-ctx.Done()
	return true
}

// halve changes the effect of calls that are cut off.
func halve[Req, Res any](f *method[Req, Res], half func(*Req)) {
	whenCut(f, func(ctx context.Context, req Req, inner method[Req, Res]) {
		half(&req)
		_, _ = inner(ctx, req)
	})
}

func whenCut[Req, Res any](f *method[Req, Res], instead func(context.Context, Req, method[Req, Res])) {
	f.around(func(ctx context.Context, req Req, inner method[Req, Res]) (Res, error) {
		if !isCut(ctx) {
			return inner(ctx, req)
		}
		instead(context.WithoutCancel(ctx), req, inner)
		var none Res
		return none, ctx.Err()
	})
}

func ignoresFinished(m *mutant) {
	m.lease.around(func(ctx context.Context, req provider.LeaseRequest, lease method[provider.LeaseRequest, provider.LeaseResult]) (provider.LeaseResult, error) {
		return lease(context.WithoutCancel(ctx), req)
	})
}

func losesCutRenewals(m *mutant) {
	whenCut(&m.renew, func(ctx context.Context, req provider.RenewTasksRequest, _ method[provider.RenewTasksRequest, provider.RenewTasksResult]) {
		item := provider.TaskReport{Token: req.Items[0].Token, Outcome: provider.TaskReleaseAll}
		_, _ = m.Provider.ReportTasks(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
	})
}

func orphansWhenCut(m *mutant) {
	whenCut(&m.remove, func(ctx context.Context, req provider.DeleteRequest, remove method[provider.DeleteRequest, provider.DeleteResult]) {
		res, _ := m.List(ctx, provider.ListRequest{Filter: provider.Filter{ParentKey: req.Key}})
		_, _ = remove(ctx, req)
		for _, child := range res.Instances {
			_, _ = m.Provider.Create(ctx, provider.CreateRequest{ID: child.ID, Key: child.Key, Commit: unique(), Name: child.Name})
		}
	})
}

func prunesAllWhenCut(m *mutant) {
	whenCut(&m.prune, func(ctx context.Context, req provider.PruneRequest, prune method[provider.PruneRequest, provider.PruneResult]) {
		_, _ = prune(ctx, req)
		res, _ := m.List(ctx, provider.ListRequest{})
		for _, i := range res.Instances {
			_, _ = m.Provider.Delete(ctx, provider.DeleteRequest{Key: i.Key, Force: true})
		}
	})
}
