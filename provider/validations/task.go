package validations

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

func taskCases() []testCase {
	const fetchable = "A task is fetchable if it is queued or its lease has expired, its NotBefore has come, and its " +
		"instance is not Suspended. A task that is past its time is fetchable only with Expired."
	const counts = "Each item has the ExecutionState of the execution that wants the result, the Attempt, the " +
		"Deliveries (raised by this lease), the last heartbeat details and the last failure."
	return []testCase{
		{name: "fetched", run: taskFetched, rule: "FetchTasks leases up to Max activity tasks of the named queues and activity names."},
		{name: "filter", run: taskFilter, rule: "FetchTasks leases up to Max activity tasks of the named queues and activity names."},
		{name: "up-to-max", run: taskMax, rule: "FetchTasks leases up to Max activity tasks of the named queues and activity names."},
		{name: "racing-fetchers", run: taskRace, rule: fetchable},
		{name: "lease-expires", run: taskExpires, rule: fetchable},
		{name: "not-before", run: taskNotBefore, rule: "NewTask.NotBefore: delay until it may be fetched"},
		{name: "suspended", run: taskSuspended, rule: fetchable},
		{name: "past-deadline", run: taskDeadline, rule: "NewTask.Deadline: from now until it is past its time; 0: none"},
		{name: "hand-off", run: taskHandOff, rule: "NewTask.Lease: written already leased to the committer (hand-off)"},
		{name: "details-and-failure", run: taskDetails, rule: counts},
		{name: "cancelled-unstarted", run: taskCancelled, rule: "A task that is not leased is removed."},
		{name: "cancelled-leased", run: taskCancelledLeased, rule: "A leased one is flagged: its renewal returns CancelRequested."},
		{name: "cancelled-again", run: taskCancelledAgain, rule: "A task whose cancellation was requested is queued without the Delay."},
		{name: "cancelled-removed", run: taskCancelledRemoved, rule: "With Remove, a leased task is removed, too."},
		{name: "expired-too", run: taskExpiredToo, rule: "FetchTasksRequest.Expired: also tasks past their time, of every queue and name"},
		{name: "of-ended-executions", run: taskEnds, rule: "Tasks of an execution are normally removed when it ends."},
	}
}

func terminal(s provider.Status) provider.ExecutionState {
	return provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: s}
}

func taskFetched(t *trial) {
	i := t.beginTasks(newTask(4))
	task := t.fetchTask()
	t.checkf(task.TaskRef == ref(i, 4) && task.InstanceID == "i" && task.Queue == queue && task.Name == activity,
		"got %+v, want task 4 of instance i with its queue and name", task)
	t.checkf(string(task.Payload) == "task4" && task.Priority == provider.PriorityDefault,
		"payload %q, priority %d, want task4 and the default", task.Payload, task.Priority)
	t.checkf(task.Attempt == 1 && task.Deliveries == 1 && task.LeaseUntil > task.ScheduledAt && task.ScheduledAt > 0,
		"got %+v, want the first attempt and delivery, and times in order", task)
	t.checkf(task.State.Kind == provider.ExecutionRunning && !task.CancelRequested && !task.PastDeadline,
		"got %+v, want state Running, not cancelled, not past its time", task)
	is(t, "tasks while the lease holds the only one", len(t.fetchTasks()), 0)
}

func taskFilter(t *trial) {
	other, elsewhere := newTask(2), newTask(3)
	other.Name, elsewhere.Queue = "other", "elsewhere"
	t.beginTasks(newTask(1), other, elsewhere)
	task := t.fetchTask()
	t.checkf(task.EventID == 1, "got task %d, want 1", task.EventID)
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) {
		r.Queues = []provider.QueueFilter{{Queue: "elsewhere", Names: []string{"other"}}, {Queue: queue, Names: []string{"other", activity}}}
	})
	t.checkf(len(list) == 1 && list[0].EventID == 2, "got %+v, want task 2", list)
}

func taskMax(t *trial) {
	t.beginTasks(newTask(1), newTask(2), newTask(3))
	two := func(r *provider.FetchTasksRequest) { r.Max = 2 }
	is(t, "tasks under a Max of 2", len(t.fetchTasks(two)), 2)
	is(t, "remaining tasks", len(t.fetchTasks(two)), 1)
}

func taskRace(t *trial) {
	const tasks = 40
	list := make([]provider.NewTask, tasks)
	for n := range list {
		list[n] = newTask(int64(n + 1))
	}
	t.beginTasks(list...)
	var mu sync.Mutex
	got := map[provider.TaskRef]int{}
	t.parallel(8, func(int) {
		for {
			taken := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 3 })
			if len(taken) == 0 {
				return
			}
			mu.Lock()
			for _, task := range taken {
				got[task.TaskRef]++
			}
			mu.Unlock()
		}
	})
	is(t, "tasks fetched", len(got), tasks)
	for task, n := range got {
		t.checkf(n == 1, "task %d was leased %d times at once, want 1", task.EventID, n)
	}
}

func taskExpires(t *trial) {
	t.beginTasks(newTask(1))
	first := t.fetchTask(brieflyTask)
	second := t.fetchTask()
	t.checkf(second.Attempt == 1 && second.Deliveries == 2, "attempt %d, deliveries %d, want 1 and 2", second.Attempt, second.Deliveries)
	t.want(t.report(first, provider.TaskComplete).Err, provider.ErrLeaseLost)
}

func taskNotBefore(t *trial) {
	later := newTask(1)
	later.NotBefore = 2 * short
	t.beginTasks(later)
	req := fetchTasksRequest()
	req.Wait = patience
	res, err := t.FetchTasks(t.ctx, req)
	t.ok(err)
	t.mustf(len(res.Tasks) == 1, "got %d tasks, want 1", len(res.Tasks))
	t.checkf(res.Now >= res.Tasks[0].ScheduledAt.Add(2*short), "fetched at %d, scheduled at %d, want the delay between them", res.Now, res.Tasks[0].ScheduledAt)
}

func taskSuspended(t *trial) {
	i := t.beginTasks(newTask(1))
	t.steer(i.Key, provider.SteerSuspend)
	is(t, "tasks of a suspended instance", len(t.fetchTasks()), 0)
	t.steer(i.Key, provider.SteerResume)
	t.fetchTask()
}

func taskDeadline(t *trial) {
	task := newTask(1)
	task.Deadline = short
	t.beginTasks(task)
	late := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Expired, r.Queues = true, nil })
	t.checkf(late.PastDeadline && late.Deadline >= late.ScheduledAt.Add(short), "got %+v, want a task past its deadline", late)
	t.ok(t.report(late, provider.TaskRelease).Err)
	is(t, "tasks past their deadline fetched for work", len(t.fetchTasks()), 0)
}

func taskHandOff(t *trial) {
	task, token := handedOff()
	i := t.beginTasks(task)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.checkf(len(res.Tasks) == 1 && res.Tasks[0].Owner == node && res.Tasks[0].Deliveries == 1,
		"tasks %+v, want one leased by the owner on its first delivery", res.Tasks)
	_, err = t.RenewTasks(t.ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{{TaskRef: ref(i, 1), Token: token}}, Lease: short})
	t.ok(err)
	again := t.fetchTask() // after the short lease
	t.checkf(again.Deliveries == 2 && again.Attempt == 1, "delivery %d of attempt %d, want 2 and 1", again.Deliveries, again.Attempt)
	req := next(t.get(i.Key))
	req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}}
	t.refused(req, provider.ErrLeaseLost)
}

func taskOrder(t *trial) {
	urgent, idle := newTask(3), newTask(1)
	urgent.Priority, idle.Priority = provider.PriorityHighest, provider.PriorityLowest
	i := t.beginTasks(idle, newTask(2), urgent, newTask(4))
	req := next(i)
	req.Tasks = []provider.NewTask{newTask(5)}
	t.commit(req)
	got := make([]int64, 5)
	for n := range got {
		got[n] = t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 }).EventID
	}
	t.checkf(slices.Equal(got, []int64{3, 2, 4, 5, 1}), "got tasks in the order %d, want 3 2 4 5 1", got)
}

func taskDetails(t *trial) {
	t.beginTasks(newTask(1))
	task := t.fetchTask(brieflyTask)
	t.renew(provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token, Details: []byte("half")})
	t.ok(t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Failure = []byte("boom") }).Err)
	task = t.fetchTask()
	t.checkf(string(task.Details) == "half" && string(task.Failure) == "boom", "details %q, failure %q, want half and boom", task.Details, task.Failure)
	t.checkf(task.Attempt == 2 && task.Deliveries == 1, "attempt %d, deliveries %d, want 2 and 1", task.Attempt, task.Deliveries)
}

// commitCancel commits the cancellation of event 1.
func commitCancel(t *trial, i provider.Instance, remove bool) {
	req := next(i)
	req.CancelTasks = []provider.CancelTask{{EventID: 1, Remove: remove}, {EventID: 99}}
	t.commit(req)
}

func taskCancelled(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	commitCancel(t, i, false)
	t.tasksAre(i.Key, "2")
}

func taskCancelledLeased(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	commitCancel(t, i, false)
	t.tasksAre(i.Key, "1")
	res := t.renew(provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token})
	t.checkf(res.Err == nil && res.CancelRequested && res.State.Kind == provider.ExecutionRunning,
		"the renewal returned %+v, want Running with CancelRequested", res)
	t.ok(t.report(task, provider.TaskComplete).Err)
}

func taskCancelledAgain(t *trial) {
	for i, outcome := range []provider.TaskOutcome{provider.TaskRetry, provider.TaskRelease} {
		instance := t.begin(fmt.Sprint("i", i), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		task := t.fetchTask()
		commitCancel(t, instance, false)
		t.ok(t.report(task, outcome, func(r *provider.TaskReport) { r.Delay = long }).Err)
		again := t.fetchTask()
		t.checkf(again.TaskRef == task.TaskRef && again.CancelRequested, "got %+v, want the same task with CancelRequested", again)
		t.ok(t.report(again, provider.TaskComplete).Err)
	}
}

func taskCancelledRemoved(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	commitCancel(t, i, true)
	t.tasksAre(i.Key, "")
	t.want(t.renew(provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token}).Err, provider.ErrLeaseLost)
	t.want(t.report(task, provider.TaskComplete).Err, provider.ErrLeaseLost)
}

// against returns a key that sorts before those of smaller numbers.
func against(n int) func(*provider.CreateRequest) {
	return func(r *provider.CreateRequest) { r.Key[0] = byte(0xf0 - n) }
}

// stockQueue commits tasks of the instance id, and creates the instance if necessary. A name such as "a1" or "b2 urgent" sets
// the fairness key, number and options of a task, and is its payload.
func stockQueue(t *trial, id string, names ...string) {
	i, err := t.Get(t.ctx, provider.GetRequest{ID: id})
	if err != nil {
		i.Instance = t.begin(id)
	}
	req := next(i.Instance)
	for n, name := range names {
		task := newTask(i.Instance.HistoryLength + int64(n) + 1)
		key, remark, _ := strings.Cut(name, " ")
		task.FairnessKey, task.Payload = strings.Trim(key, "0123456789-"), []byte(key)
		switch remark {
		case "urgent":
			task.Priority = provider.PriorityHighest
		case "other", "third":
			task.Name = remark
		case "elsewhere":
			task.Queue = "elsewhere"
		case "later":
			task.NotBefore = long
		}
		req.Tasks, req.Events = append(req.Tasks, task), append(req.Events, []byte("task"))
	}
	t.commit(req)
	t.pass(time.Millisecond) // so that later tasks have a different instant
}
