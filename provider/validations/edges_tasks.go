package validations

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

func edgeCancelled(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Tasks = []provider.NewTask{newTask(1), newTask(2)}
		r.CancelTasks = []provider.CancelTask{{EventID: 1}}
		r.Timers = []provider.Timer{{EventID: 3, Due: 1, Payload: []byte("3")}, {EventID: 4, Due: 1, Payload: []byte("4")}}
		r.CancelTimers = []int64{3}
	})
	t.tasksAre(i.Key, "2")
	t.checkf(i.InboxMessages == 1, "%d messages, want 1, the other timer", i.InboxMessages)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "4", "got %q, want \"4\"", u.payloads())
}

func edgeSecondTask(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	req := next(i)
	req.Completes = []provider.TaskCompletion{{EventID: 1, Token: task.token}}
	second := newTask(1)
	second.Payload = []byte("second")
	req.Tasks = []provider.NewTask{second}
	t.commit(req)
	is(t, "the payload of the task", string(t.fetchTask().Payload), "second")
}

func edgeExpiredTasks(t *trial) {
	t.beginTasks(newTask(1))
	fetch := unique()
	t.fetchTask(brieflyTask, func(r *provider.FetchTasksRequest) { r.Token = fetch })
	t.pass(2 * short)
	_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{
		{Token: fetch, Outcome: provider.TaskReleaseAll, Delay: long},
	}})
	t.ok(err)
	is(t, "deliveries, including the expired lease", t.fetchTask().Deliveries, 2)
}

func edgeInstant(t *trial) {
	var got, want strings.Builder
	t.begin("i", func(r *provider.CommitTurnRequest) {
		for event := range int64(12) {
			task := newTask(event + 1)
			task.Name = fmt.Sprint("act", event%3)
			r.Tasks = append(r.Tasks, task)
			fmt.Fprint(&want, event+1, " ")
		}
		slices.Reverse(r.Tasks)
	})
	for range 6 {
		for _, task := range t.fetchTasks(func(r *provider.FetchTasksRequest) {
			r.Max, r.Queues[0].Names = 2, []string{"act2", "act0", "act1"}
		}) {
			fmt.Fprint(&got, task.EventID, " ")
		}
	}
	t.checkf(got.String() == want.String(), "got tasks in the order %s, want %s", got.String(), want.String())
}

func edgeLate(t *trial) {
	urgent, later, sooner := newTask(1), newTask(2), newTask(3)
	urgent.Priority = provider.PriorityHighest
	later.Deadline, sooner.StartBy = short+short/2, short
	later.Priority, sooner.Priority = provider.PriorityDefault, provider.PriorityLowest
	t.beginTasks(urgent, later, sooner)
	t.pass(2 * short)
	list := t.fetchTasks(expired)
	t.mustf(len(list) == 3, "got %d tasks, want 3", len(list))
	got := [3]int64{list[0].EventID, list[1].EventID, list[2].EventID}
	t.checkf(got == [3]int64{3, 2, 1}, "got tasks in the order %v, want %v", got, [3]int64{3, 2, 1})
}

func edgeRetry(t *trial) {
	t.beginTasks(newTask(1))
	t.ok(t.report(t.fetchTask(), provider.TaskRetry, func(r *provider.TaskReport) { r.Failure, r.Details = []byte("boom"), []byte("half") }).Err)
	t.ok(t.report(t.fetchTask(), provider.TaskRetry).Err)
	task := t.fetchTask()
	t.checkf(len(task.Failure) == 0, "the failure of the last attempt is %q, want none", task.Failure)
	t.checkf(string(task.Details) == "half", "the details are %q, want \"half\"", task.Details)
}

// beginLate creates an instance with tasks leased to the caller whose deadline passes soon. A fetch of them might be too
// late.
func beginLate(t *trial, tasks ...provider.NewTask) (i provider.Instance, leased []leasedTask) {
	lease := &provider.TaskLease{Token: unique(), Owner: node, Duration: long}
	for n := range tasks {
		tasks[n].Deadline, tasks[n].Lease = short, lease
	}
	i = t.beginTasks(tasks...)
	for _, task := range tasks {
		leased = append(leased, leasedTask{provider.LeasedTask{TaskRef: ref(i, task.EventID), Attempt: 1}, lease.Token})
	}
	return i, leased
}

func edgeParked(t *trial) {
	i, list := beginLate(t, newTask(1))
	task := list[0]
	t.ok(t.report(task, provider.TaskPark).Err)
	t.pass(2 * short)
	is(t, "parked tasks fetched for work", len(t.fetchTasks()), 0)
	again := t.fetchTask(expired)
	t.checkf(again.TaskRef == task.TaskRef && again.PastDeadline, "got %+v, want the same task, past its deadline", again)
	t.want(t.report(task, provider.TaskComplete).Err, provider.ErrLeaseLost)
	t.ok(t.report(again, provider.TaskComplete).Err)
	is(t, "messages after the end of the task", t.get(i.Key).InboxMessages, 1)
}

func edgeParkedSuspended(t *trial) {
	i, list := beginLate(t, newTask(1), newTask(2))
	t.ok(t.report(list[0], provider.TaskPark).Err)
	t.steer(i.Key, provider.SteerSuspend)
	t.ok(t.report(list[1], provider.TaskPark).Err)
	t.pass(2 * short)
	is(t, "tasks of a suspended instance", len(t.fetchTasks(expired)), 0)
	t.steer(i.Key, provider.SteerResume)
	is(t, "tasks after the resume", len(t.fetchTasks(expired)), 2)
}

func edgeRenewedSuspended(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.steer(i.Key, provider.SteerSuspend)
	res, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{renewal(task)}, Lease: short})
	t.ok(err)
	t.mustf(len(res.Items) == 1 && res.Items[0].Err == nil, "the report returned %+v, want one result without an error", res.Items)
	t.pass(2 * short)
	is(t, "tasks of a suspended instance", len(t.fetchTasks(expired)), 0)
	t.steer(i.Key, provider.SteerResume)
	is(t, "tasks after the resume", len(t.fetchTasks()), 1)
}

func edgeHandOff(t *trial) {
	task := newTask(1)
	task.NotBefore = long
	task.Lease = &provider.TaskLease{Token: unique(), Owner: node, Duration: short}
	t.beginTasks(task)
	t.pass(2 * short)
	is(t, "tasks before their NotBefore", len(t.fetchTasks()), 0)
}
