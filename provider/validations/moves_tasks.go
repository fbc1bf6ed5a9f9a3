package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// A leasedTask is a fetched task with the token that leases it.
type leasedTask struct {
	provider.LeasedTask

	token provider.UUID
}

func newTask(event int64) provider.NewTask {
	return provider.NewTask{EventID: event, Queue: queue, Name: activity, Payload: fmt.Append(nil, "task", event)}
}

func ref(i provider.Instance, event int64) provider.TaskRef {
	return provider.TaskRef{Key: i.Key, Execution: i.Execution, EventID: event}
}

// beginTasks creates an instance with pending tasks.
func (t *trial) beginTasks(tasks ...provider.NewTask) provider.Instance {
	return t.begin("i", func(r *provider.CommitTurnRequest) { r.Tasks = tasks })
}

func fetchTasksRequest() provider.FetchTasksRequest {
	return provider.FetchTasksRequest{
		Owner: node, Token: unique(), Lease: long, Max: 100,
		Queues: []provider.QueueFilter{{Queue: queue, Names: []string{activity}}},
	}
}

// fetchTasks fetches tasks without waiting, with changes to the request.
func (t *trial) fetchTasks(changes ...func(*provider.FetchTasksRequest)) []leasedTask {
	req := fetchTasksRequest()
	for _, change := range changes {
		change(&req)
	}
	res, err := t.FetchTasks(t.ctx, req)
	t.ok(err)
	list := make([]leasedTask, 0, len(res.Tasks))
	for _, one := range res.Tasks {
		list = append(list, leasedTask{one, provider.TaskToken(req.Token, one.TaskRef)})
	}
	return list
}

// fetchTask fetches the only task, and waits for it if necessary.
func (t *trial) fetchTask(changes ...func(*provider.FetchTasksRequest)) leasedTask {
	waiting := func(r *provider.FetchTasksRequest) { r.Wait = patience }
	list := t.fetchTasks(append([]func(*provider.FetchTasksRequest){waiting}, changes...)...)
	t.mustf(len(list) == 1, "got %d tasks, want 1", len(list))
	return list[0]
}

// noTask checks that no task is fetchable now.
func (t *trial) noTask(why string, changes ...func(*provider.FetchTasksRequest)) {
	if list := t.fetchTasks(changes...); len(list) != 0 {
		t.errorf("got %d tasks, want none: %s", len(list), why)
	}
}

func brieflyTask(r *provider.FetchTasksRequest) { r.Lease = short }

func expired(r *provider.FetchTasksRequest) { r.Expired = true }

// tasksAre checks the event IDs of the pending tasks.
func (t *trial) tasksAre(key provider.UUID, want string) {
	res, err := t.Get(t.ctx, provider.GetRequest{Key: key, WithTasks: true})
	t.ok(err)
	words := make([]string, 0, len(res.Tasks))
	for _, task := range res.Tasks {
		words = append(words, fmt.Sprint(task.EventID))
	}
	if got := strings.Join(words, " "); got != want {
		t.errorf("the pending tasks are %q, want %q", got, want)
	}
}

// handedOff is a task of event 1 that is stored already leased.
func handedOff() (provider.NewTask, provider.UUID) {
	task := newTask(1)
	task.Lease = &provider.TaskLease{Token: unique(), Owner: node, Duration: long}
	return task, task.Lease.Token
}

func reportOf(task leasedTask, outcome provider.TaskOutcome) provider.TaskReport {
	m := text("result")
	m.Execution, m.EventID = task.Execution, task.EventID
	return provider.TaskReport{TaskRef: task.TaskRef, Token: task.token, Attempt: task.Attempt, Outcome: outcome, Message: m}
}

// report reports on one task, with changes to the item.
func (t *trial) report(task leasedTask, outcome provider.TaskOutcome, changes ...func(*provider.TaskReport)) provider.TaskReportResult {
	item := reportOf(task, outcome)
	for _, change := range changes {
		change(&item)
	}
	res, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
	t.ok(err)
	t.mustf(len(res.Items) == 1, "%d results for one report, want 1", len(res.Items))
	return res.Items[0]
}

func renewal(task leasedTask) provider.TaskRenewal {
	return provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token}
}

func (t *trial) renew(item provider.TaskRenewal) provider.TaskRenewalResult {
	return renewAll(t, item)[0]
}

// renewAll renews leases for long.
func renewAll(t *trial, items ...provider.TaskRenewal) []provider.TaskRenewalResult {
	res, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Items: items, Lease: long})
	t.ok(err)
	t.mustf(len(res.Items) == len(items), "%d results for %d renewals", len(res.Items), len(items))
	for _, item := range res.Items {
		extended := item.Err == nil && item.State.Kind == provider.ExecutionRunning
		t.checkf(!extended || item.LeaseUntil == 0 || item.LeaseUntil >= res.Now.Add(long),
			"a lease was renewed until %d at %d, want its full length", item.LeaseUntil, res.Now)
	}
	return res.Items
}
