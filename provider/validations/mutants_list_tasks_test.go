package validations

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

func brokenTaskLists() []brokenRule {
	return []brokenRule{
		{name: "tasks are listed in the order of their events", caught: "list-tasks/order", breaks: pendingAre(sortsByEvent)},
		{name: "a page of tasks begins with the last one of the page before", caught: "list-tasks/pages", breaks: repeatsTask},
		{name: "a page of tasks counts those before it", caught: "list-tasks/changes-between-pages", breaks: countsTasksBefore},
		{name: "a page of tasks takes all that there is", caught: "list-tasks/page-of-bytes", breaks: fillsTaskPages},
		{name: "a task that is alone too large is left out", caught: "list-tasks/large-task", breaks: pendingAre(dropsLargeTasks)},
		{name: "tasks of instances that are being deleted are listed", caught: "list-tasks/deleting", breaks: listsDeleting},
		{name: "only attempts count as retrying", caught: "list-tasks/retrying-deliveries", breaks: retryingIs(func(t *provider.TaskInfo) bool { return t.Attempt > 1 })},
		{name: "only deliveries count as retrying", caught: "list-tasks/retrying-attempts", breaks: retryingIs(func(t *provider.TaskInfo) bool { return t.Deliveries > 1 })},
		{name: "tasks are listed of all queues", caught: "list-tasks/queue-and-name", breaks: func(m *mutant) {
			m.listing.before(func(req *provider.ListTasksRequest) { req.Queue = "" })
		}},
		{name: "a listed task has no code version", caught: "list-tasks/fields", breaks: pendingAre(func(res *provider.ListTasksResult) {
			for i := range res.Tasks {
				res.Tasks[i].CodeVersion = ""
			}
		})},
		{name: "a list of tasks changes versions", caught: "list-tasks/changes-nothing", breaks: func(m *mutant) {
			m.listing.after(func(_ provider.ListTasksRequest, res *provider.ListTasksResult, _ *error) {
				for i := range res.Tasks {
					m.touch(context.Background(), res.Tasks[i].Key)
				}
			})
		}},
		{name: "tasks are listed and nothing is promised", caught: "list-tasks/promised", breaks: func(m *mutant) { m.has.Retrying = false }},
		{name: "a filter for what retries is ignored", caught: "list-tasks/filter-retrying", breaks: filters(func(f *provider.Filter) { f.Retrying = false })},
		{name: "an instance counts once for each task", caught: "list-tasks/filter-once", breaks: countsTasks},
	}
}

// pendingAre changes the results of ListTasks.
func pendingAre(change func(*provider.ListTasksResult)) func(*mutant) {
	return func(m *mutant) {
		m.listing.after(func(_ provider.ListTasksRequest, res *provider.ListTasksResult, _ *error) { change(res) })
	}
}

func sortsByEvent(res *provider.ListTasksResult) {
	slices.SortStableFunc(res.Tasks, func(a, b provider.ListedTask) int { return int(a.EventID - b.EventID) })
}

func repeatsTask(m *mutant) {
	var last provider.ListedTask
	m.listing.after(func(req provider.ListTasksRequest, res *provider.ListTasksResult, _ *error) {
		if req.Cursor != "" && len(res.Tasks) > 0 {
			res.Tasks[0], last = last, res.Tasks[len(res.Tasks)-1]
		} else if len(res.Tasks) > 0 {
			last = res.Tasks[len(res.Tasks)-1]
		}
	})
}

// countsTasksBefore takes the cursor for a number of tasks.
func countsTasksBefore(m *mutant) {
	shown := map[string]int{}
	m.listing.around(func(ctx context.Context, req provider.ListTasksRequest, list method[provider.ListTasksRequest, provider.ListTasksResult]) (provider.ListTasksResult, error) {
		before := shown[req.Cursor]
		if before == 0 {
			res, err := list(ctx, req)
			shown[res.Cursor] = len(res.Tasks)
			return res, err
		}
		all := req
		all.Cursor, all.Max = "", 0
		res, err := list(ctx, all)
		if err != nil {
			return res, err
		}
		res.Tasks = res.Tasks[min(before, len(res.Tasks)):]
		return res, nil
	})
}

func fillsTaskPages(m *mutant) {
	m.listing.around(func(ctx context.Context, req provider.ListTasksRequest, list method[provider.ListTasksRequest, provider.ListTasksResult]) (provider.ListTasksResult, error) {
		res, err := list(ctx, req)
		for err == nil && req.Max == 0 && res.Cursor != "" {
			req.Cursor = res.Cursor
			var more provider.ListTasksResult
			more, err = list(ctx, req)
			res.Tasks, res.Cursor = append(res.Tasks, more.Tasks...), more.Cursor
		}
		return res, err
	})
}

func dropsLargeTasks(res *provider.ListTasksResult) {
	res.Tasks = slices.DeleteFunc(res.Tasks, func(t provider.ListedTask) bool { return len(t.Details)+len(t.Failure) > provider.MaxFetchBytes })
}

func listsDeleting(m *mutant) {
	var all []provider.ListedTask
	m.listing.after(func(_ provider.ListTasksRequest, res *provider.ListTasksResult, _ *error) {
		if len(res.Tasks) < len(all) {
			res.Tasks = all
		}
		all = res.Tasks
	})
}

// retryingIs changes which tasks count as retrying.
func retryingIs(retrying func(*provider.TaskInfo) bool) func(*mutant) {
	return func(m *mutant) {
		m.listing.after(func(req provider.ListTasksRequest, res *provider.ListTasksResult, _ *error) {
			if req.Retrying {
				res.Tasks = slices.DeleteFunc(res.Tasks, func(t provider.ListedTask) bool { return !retrying(&t.TaskInfo) })
			}
		})
	}
}

func countsTasks(m *mutant) {
	m.count.after(func(req provider.CountRequest, res *provider.CountResult, _ *error) {
		if req.Filter.Retrying && req.Max == 0 {
			list, _ := m.Provider.ListTasks(context.Background(), provider.ListTasksRequest{Retrying: true})
			res.Count = int64(len(list.Tasks))
		}
	})
}
