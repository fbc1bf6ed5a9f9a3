package validations

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenExpiry() []brokenRule {
	return []brokenRule{
		{name: "a batch of tasks has one count of deliveries", caught: "tasks/deliveries-of-each", breaks: func(m *mutant) {
			m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
				var most int64
				for _, task := range res.Tasks {
					most = max(most, task.Deliveries)
				}
				for i := range res.Tasks {
					res.Tasks[i].Deliveries = most
				}
			})
		}},
		{name: "an expired lease can no longer be renewed", caught: "renew/after-its-end", breaks: renewsInTime},
		{name: "a commit cancels three tasks at most", caught: "tasks/cancelled-many", breaks: func(m *mutant) {
			m.commit.before(func(r *provider.CommitTurnRequest) { r.CancelTasks = r.CancelTasks[:min(3, len(r.CancelTasks))] })
		}},
		{name: "a commit cancels tasks before it schedules others", caught: "tasks/scheduled-and-cancelled", breaks: func(m *mutant) {
			m.commit.before(func(r *provider.CommitTurnRequest) {
				r.CancelTasks = slices.DeleteFunc(slices.Clone(r.CancelTasks), func(c provider.CancelTask) bool {
					return slices.ContainsFunc(r.Tasks, func(n provider.NewTask) bool { return n.EventID == c.EventID })
				})
			})
		}},
		{name: "a cancellation of two tasks that are gone is a conflict", caught: "tasks/cancelled-unknown", breaks: refusesGoneCancels},
		{name: "a renewal of a lost lease succeeds", caught: "renew/taken-over", breaks: renewsTakenOver},
	}
}

func refusesGoneCancels(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		res, _ := m.Provider.Get(ctx, provider.GetRequest{Key: req.Key, WithTasks: true})
		gone := 0
		for _, c := range req.CancelTasks {
			if !slices.ContainsFunc(res.Tasks, func(i provider.TaskInfo) bool { return i.EventID == c.EventID }) && len(req.Tasks) == 0 {
				gone++
			}
		}
		if gone > 1 {
			return provider.CommitTurnResult{}, provider.ErrConflict
		}
		return commit(ctx, req)
	})
}

func renewsTakenOver(m *mutant) {
	m.renew.after(func(req provider.RenewTasksRequest, res *provider.RenewTasksResult, _ *error) {
		for n := range res.Items {
			ref := req.Items[n].TaskRef
			got, _ := m.Provider.Get(context.Background(), provider.GetRequest{Key: ref.Key, WithTasks: true})
			again := slices.ContainsFunc(got.Tasks, func(i provider.TaskInfo) bool { return i.TaskRef == ref && i.Deliveries > 1 })
			if errors.Is(res.Items[n].Err, provider.ErrLeaseLost) && again {
				res.Items[n].Err = nil
			}
		}
	})
}

// renewsInTime refuses to renew what was fetched for a short time, as if that had passed.
func renewsInTime(m *mutant) {
	var late sync.Map // by token
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for _, task := range res.Tasks {
			if req.Lease == short && len(res.Tasks) > 1 {
				late.Store(provider.TaskToken(req.Token, task.TaskRef), true)
			}
		}
	})
	m.renew.after(func(req provider.RenewTasksRequest, res *provider.RenewTasksResult, _ *error) {
		for n, item := range req.Items {
			if _, is := late.Load(item.Token); is {
				res.Items[n].Err = provider.ErrLeaseLost
			}
		}
	})
}
