package validations

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenTasks() []brokenRule {
	return []brokenRule{
		{name: "a task has no instance ID", caught: "tasks/fetched", breaks: tasksFetched(hidesInstance)},
		{name: "a task of another activity is fetched", caught: "tasks/filter", breaks: fetchesTasks(wantsOthers)},
		{name: "a fetch returns one task more than Max", caught: "tasks/up-to-max", breaks: fetchesTasks(takesOneTaskMore)},
		{name: "two fetchers get the same task", caught: "tasks/racing-fetchers", racing: true, breaks: looksForTasksEarly},
		{name: "a lost delivery of a task is not counted", caught: "tasks/lease-expires", breaks: tasksFetched(countsToOne)},
		{name: "a task is fetched before its NotBefore", caught: "tasks/not-before", breaks: commits(halvesNotBefore)},
		{name: "a task of a suspended instance is started", caught: "tasks/suspended", breaks: startsSuspended},
		{name: "a task past its deadline is fetched for work", caught: "tasks/past-deadline", breaks: fetchesTasks(wantsExpired)},
		{name: "a hand-off does not count as a delivery", caught: "tasks/hand-off", breaks: countsNoHandOff},
		{name: "a task loses the details of its renewal", caught: "tasks/details-and-failure", breaks: forgetsHeartbeats},
		{name: "a queued task outlives its cancellation", caught: "tasks/cancelled-unstarted", breaks: keepsCancelled},
		{name: "a cancelled task waits out its delay", caught: "tasks/cancelled-again", breaks: delaysCancelled},
		{name: "a renewal never returns CancelRequested", caught: "tasks/cancelled-leased", breaks: renewed(hidesCancellation)},
		{name: "a leased task is not removed", caught: "tasks/cancelled-removed", breaks: commits(removesNoTask)},
		{name: "a fetch with Expired returns only tasks past their time", caught: "tasks/expired-too", breaks: fetchesTasks(wantsExpiredOnly)},
		{name: "a task outlives a reset", caught: "tasks/of-ended-executions", breaks: outlivesReset},
	}
}

// fetchesTasks changes the requests of FetchTasks.
func fetchesTasks(change func(*provider.FetchTasksRequest)) func(*mutant) {
	return func(m *mutant) { m.tasks.before(change) }
}

// tasksFetched changes the tasks that FetchTasks returns.
func tasksFetched(change func(*provider.LeasedTask)) func(*mutant) {
	return func(m *mutant) {
		m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
			for n := range res.Tasks {
				change(&res.Tasks[n])
			}
		})
	}
}

// pending returns a stored task.
func (m *mutant) pending(ctx context.Context, ref provider.TaskRef) (provider.TaskInfo, bool) {
	res, _ := m.Provider.Get(ctx, provider.GetRequest{Key: ref.Key, WithTasks: true})
	n := slices.IndexFunc(res.Tasks, func(t provider.TaskInfo) bool { return t.TaskRef == ref })
	if n < 0 {
		return provider.TaskInfo{}, false
	}
	return res.Tasks[n], true
}

func hidesInstance(t *provider.LeasedTask) { t.InstanceID = "" }

func wantsOthers(req *provider.FetchTasksRequest) {
	req.Queues = slices.Clone(req.Queues)
	for n, q := range req.Queues {
		req.Queues[n].Names = append(slices.Clone(q.Names), "other")
	}
}

func takesOneTaskMore(req *provider.FetchTasksRequest) {
	if req.Max > 1 && req.Max < provider.MaxBatch {
		req.Max++
	}
}

// looksForTasksEarly returns the same tasks to all fetches of the same instant.
func looksForTasksEarly(m *mutant) {
	var mu sync.Mutex
	var at time.Time
	var found provider.FetchTasksResult
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
		if req.Wait > 0 {
			return tasks(ctx, req)
		}
		window()
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Equal(at) && len(found.Tasks) > 0 {
			return found, nil
		}
		res, err := tasks(ctx, req)
		at, found = time.Now(), res
		return res, err
	})
}

func countsToOne(t *provider.LeasedTask) { t.Deliveries = min(t.Deliveries, 1) }

// scheduled changes the tasks of a commit.
func scheduled(req *provider.CommitTurnRequest, change func(*provider.NewTask)) {
	req.Tasks = slices.Clone(req.Tasks)
	for n := range req.Tasks {
		change(&req.Tasks[n])
	}
}

func halvesNotBefore(req *provider.CommitTurnRequest) {
	scheduled(req, func(t *provider.NewTask) { t.NotBefore /= 2 })
}

func forgetsPriorities(req *provider.CommitTurnRequest) {
	scheduled(req, func(t *provider.NewTask) { t.Priority = 0 })
}

func countsNoHandOff(m *mutant) {
	var handed sync.Map
	m.commit.before(func(req *provider.CommitTurnRequest) {
		for _, task := range req.Tasks {
			if task.Lease != nil {
				handed.Store(provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: task.EventID}, true)
			}
		}
	})
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for n, task := range res.Tasks {
			if _, ok := handed.Load(task.TaskRef); ok {
				res.Tasks[n].Deliveries--
			}
		}
	})
}

// startsSuspended resumes suspended instances during a fetch.
func startsSuspended(m *mutant) {
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
		res, err := tasks(ctx, req)
		if err != nil || len(res.Tasks) > 0 || req.Wait > 0 {
			return res, err
		}
		list, _ := m.Provider.List(ctx, provider.ListRequest{Filter: provider.Filter{Statuses: []provider.Status{provider.StatusSuspended}}})
		for _, i := range list.Instances {
			m.touch(ctx, i.Key)
			res, err = tasks(ctx, req)
			_, _ = m.Provider.Steer(ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerSuspend, Commit: unique()})
		}
		return res, err
	})
}

func wantsExpired(req *provider.FetchTasksRequest) { req.Expired = true }

func wantsExpiredOnly(req *provider.FetchTasksRequest) {
	if req.Expired {
		req.Queues = nil
	}
}

func forgetsHeartbeats(m *mutant) {
	var told sync.Map
	m.renew.before(func(req *provider.RenewTasksRequest) {
		for _, item := range req.Items {
			if item.Details != nil {
				told.Store(item.TaskRef, true)
			}
		}
	})
	tasksFetched(func(t *provider.LeasedTask) {
		if _, ok := told.Load(t.TaskRef); ok {
			t.Details = nil
		}
	})(m)
}

func keepsCancelled(m *mutant) {
	m.commit.before(func(req *provider.CommitTurnRequest) {
		req.CancelTasks = slices.DeleteFunc(slices.Clone(req.CancelTasks), func(c provider.CancelTask) bool {
			task, ok := m.pending(context.Background(), provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: c.EventID})
			return ok && !c.Remove && task.State == provider.TaskQueued && len(req.Tasks) == 0 && c.EventID == 1
		})
	})
}

// renewed changes the result of each item of RenewTasks.
func renewed(change func(item provider.TaskRenewal, res *provider.TaskRenewalResult)) func(*mutant) {
	return func(m *mutant) {
		m.renew.after(func(req provider.RenewTasksRequest, res *provider.RenewTasksResult, _ *error) {
			for n := range res.Items {
				change(req.Items[n], &res.Items[n])
			}
		})
	}
}

func hidesCancellation(_ provider.TaskRenewal, res *provider.TaskRenewalResult) {
	res.CancelRequested = false
}

func removesNoTask(req *provider.CommitTurnRequest) {
	req.CancelTasks = slices.Clone(req.CancelTasks)
	for n := range req.CancelTasks {
		req.CancelTasks[n].Remove = false
	}
}

// outlivesReset returns the task of an execution that was reset.
func outlivesReset(m *mutant) {
	var left atomic.Pointer[provider.TaskInfo]
	m.steer.before(func(req *provider.SteerRequest) {
		res, _ := m.Provider.Get(context.Background(), provider.GetRequest{ID: req.ID, Key: req.Key, WithTasks: true})
		if req.Action == provider.SteerReset && len(res.Tasks) > 0 {
			left.Store(&res.Tasks[0])
		}
	})
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		if task := left.Load(); task != nil && req.Wait == 0 && len(res.Tasks) == 0 {
			res.Tasks = append(res.Tasks, provider.LeasedTask{TaskRef: task.TaskRef})
		}
	})
}

// delaysCancelled keeps the delay of cancelled tasks.
func delaysCancelled(m *mutant) {
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		res.Tasks = slices.DeleteFunc(res.Tasks, func(t provider.LeasedTask) bool { return t.CancelRequested })
	})
}
