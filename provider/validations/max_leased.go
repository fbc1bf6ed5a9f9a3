package validations

import (
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

const places = "MaxLeased limits the unexpired leases of a queue, of all names and owners " +
	"together. At the limit, no further task of the queue is leased."

func maxLeasedCases() []testCase {
	const ends = "A fetch at the limit continues when one of the leases ends."
	const bypass = "A task past its time goes to any fetch with Expired, regardless of limits and sessions." //nolint:gosec // no credential
	return []testCase{
		{name: "places", run: placesTaken, rule: places},
		{name: "unlimited", run: placesUnlimited, rule: "QueueFilter.MaxLeased: 0: no limit; the lowest of several for one queue counts"},
		{name: "of-every-name-and-owner", run: placesOfAll, rule: places},
		{name: "of-each-queue", run: placesOfQueues, rule: places},
		{name: "lowest", run: placesLowest, rule: "the lowest of several for one queue counts"},
		{name: "lease-expires", run: placeExpires, rule: "MaxLeased limits the unexpired leases of a queue"},
		{name: "suspended", run: placesSuspended, rule: places},
		{name: "parked", run: placesParked, rule: "Parked tasks do not count."},
		{name: "hand-off", run: placesHandOff, rule: "Hand-offs and renewals are not limited."},
		{name: "expired", run: placesExpired, rule: bypass},
		{name: "racing-fetchers", run: placesRace, rule: "Concurrent fetches share the limit."},
		{name: "report-wakes", run: placesReported, rule: ends},
		{name: "commit-wakes", run: placesCommitted, rule: ends},
		{name: "end-wakes", run: placesRemoved, broad: true, rule: ends},
		{name: "expiry-wakes", run: placesOver, rule: ends},
	}
}

// limited limits a fetch to n leases of its first queue.
func limited(n int) func(*provider.FetchTasksRequest) {
	return func(r *provider.FetchTasksRequest) { r.Queues[0].MaxLeased = n }
}

func byOwner(name string) func(*provider.FetchTasksRequest) {
	return func(r *provider.FetchTasksRequest) { r.Owner = name }
}

// tasksOf makes n tasks with event IDs from 1.
func tasksOf(n int, changes ...func(*provider.NewTask)) []provider.NewTask {
	list := make([]provider.NewTask, n)
	for i := range list {
		list[i] = newTask(int64(i + 1))
		for _, change := range changes {
			change(&list[i])
		}
	}
	return list
}

func placesTaken(t *trial) {
	t.beginTasks(tasksOf(4)...)
	list := t.fetchTasks(limited(3))
	t.mustf(len(list) == 3, "got %d tasks, want 3, as MaxLeased says", len(list))
	t.noTask("three tasks are leased", limited(3))
	t.ok(t.report(list[1], provider.TaskComplete).Err)
	is(t, "tasks when one of three leases has ended", len(t.fetchTasks(limited(3))), 1)
}

func placesUnlimited(t *trial) {
	t.beginTasks(tasksOf(3)...)
	is(t, "tasks under a MaxLeased of 1", len(t.fetchTasks(limited(1))), 1)
	is(t, "tasks without a limit", len(t.fetchTasks()), 2)
}

func placesOfAll(t *trial) {
	tasks := tasksOf(4)
	tasks[0].Name, tasks[0].Priority = "other", provider.PriorityHighest
	t.beginTasks(tasks...)
	t.fetchTask(byOwner("node-b"), func(r *provider.FetchTasksRequest) { r.Queues[0].Names = []string{"other"} })
	is(t, "tasks when one of another name and owner is leased", len(t.fetchTasks(limited(2))), 1)
}

// A queue at its limit does not block another one.
func placesOfQueues(t *trial) {
	tasks := tasksOf(4)
	tasks[2].Queue, tasks[3].Queue = "elsewhere", "elsewhere"
	t.beginTasks(tasks...)
	both := func(r *provider.FetchTasksRequest) {
		r.Queues = append(r.Queues, provider.QueueFilter{Queue: "elsewhere", Names: []string{activity}, MaxLeased: 2})
	}
	is(t, "tasks of a queue with a limit and of one without", len(t.fetchTasks(limited(1), both)), 3)
	t.noTask("both queues are at their limits", limited(1), both)
}

func placesLowest(t *trial) {
	t.beginTasks(tasksOf(4)...)
	again := func(r *provider.FetchTasksRequest) {
		r.Queues = append(r.Queues, provider.QueueFilter{Queue: queue, Names: []string{activity, "other"}, MaxLeased: 3})
	}
	is(t, "tasks under limits of 2 and 3", len(t.fetchTasks(limited(2), again)), 2)
}

func placeExpires(t *trial) {
	t.beginTasks(tasksOf(2)...)
	t.mustf(len(t.fetchTasks(limited(1), brieflyTask)) == 1, "got no task, want 1")
	t.pass(2 * short)
	list := t.fetchTasks(limited(1))
	t.checkf(len(list) == 1, "got %d tasks after the lease expired, want 1", len(list))
}

// The code of a suspended instance still runs, so its lease counts.
func placesSuspended(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask(limited(1))
	t.begin("other", func(r *provider.CommitTurnRequest) { r.Tasks = tasksOf(1) })
	t.steer(i.Key, provider.SteerSuspend)
	t.noTask("the task of a suspended instance is leased", limited(1))
	t.ok(t.renew(renewal(task)).Err)
	t.noTask("that lease was renewed", limited(1))
	t.ok(t.report(task, provider.TaskComplete).Err)
	t.fetchTask(limited(1))
}

func placesParked(t *trial) {
	t.beginTasks(tasksOf(2)...)
	t.ok(t.report(t.fetchTask(limited(1)), provider.TaskPark).Err)
	t.fetchTask(limited(1))
}

func placesHandOff(t *trial) {
	handed, token := handedOff()
	tasks := append(tasksOf(3), handed)
	tasks[3].EventID = 4
	i := t.beginTasks(tasks...)
	list := t.fetchTasks(limited(2))
	t.mustf(len(list) == 1, "got %d tasks next to the one handed off, want 1", len(list))
	next, second := next(i), handed
	second.EventID = 5
	next.Tasks = []provider.NewTask{second}
	t.commit(next)
	item := provider.TaskRenewal{TaskRef: ref(i, 5), Token: token}
	t.checkf(t.renew(item).Err == nil && t.renew(renewal(list[0])).Err == nil, "a renewal at the limit failed, want no limit on renewals")
	t.noTask("three tasks are leased", limited(3))
}

func placesExpired(t *trial) {
	tasks := tasksOf(2)
	tasks[1].Deadline = short
	t.beginTasks(tasks...)
	t.mustf(len(t.fetchTasks(limited(1))) == 1, "got no task, want 1")
	late := t.fetchTask(limited(1), func(r *provider.FetchTasksRequest) { r.Expired = true })
	t.checkf(late.PastDeadline && late.EventID == 2, "got %+v, want task 2, past its deadline", late)
}

// Several owners fetch and release all the time. Their leases together never exceed the limit.
func placesRace(t *trial) {
	const limit, rounds = 3, 10
	t.beginTasks(tasksOf(12)...)
	var leased atomic.Int64
	t.parallel(6, func(n int) {
		for range rounds {
			list := t.fetchTasks(limited(limit), byOwner(fmt.Sprint("node-", n)), func(r *provider.FetchTasksRequest) { r.Max = 2 })
			most := leased.Add(int64(len(list)))
			t.mustf(most <= limit, "%d tasks are leased at once, want at most %d", most, limit)
			t.pass(blink)
			leased.Add(-int64(len(list))) // before the lease ends
			for _, task := range list {
				t.ok(t.report(task, provider.TaskRelease).Err)
			}
		}
	})
	is(t, "tasks after all leases were released", len(t.fetchTasks(limited(limit))), limit)
}

// fillQueue leases the first task, which fills the queue. wait returns the result of a fetch that is blocked by the limit.
func fillQueue(t *trial, tasks ...provider.NewTask) (i provider.Instance, first leasedTask, wait func() []leasedTask) {
	i = t.beginTasks(tasks...)
	list := t.fetchTasks(limited(1))
	t.mustf(len(list) == 1, "got %d tasks, want 1, as MaxLeased says", len(list))
	wait = parked(t, func() []leasedTask {
		return t.fetchTasks(limited(1), byOwner("node-b"), func(r *provider.FetchTasksRequest) { r.Wait = patience })
	})
	return i, list[0], wait
}

func placesReported(t *trial) {
	for _, outcome := range []provider.TaskOutcome{provider.TaskComplete, provider.TaskRetry, provider.TaskPark, provider.TaskRelease, provider.TaskPoison} {
		i, task, wait := fillQueue(t, tasksOf(2)...)
		t.ok(t.report(task, outcome, func(r *provider.TaskReport) { r.Delay = long }).Err)
		list := wait()
		t.checkf(len(list) == 1, "the waiting fetch got %d tasks after outcome %d, want 1", outcome, len(list))
		t.remove(i.Key, true)
	}
}

func placesCommitted(t *trial) {
	i, task, wait := fillQueue(t, tasksOf(2)...)
	req := next(i)
	req.Completes = []provider.TaskCompletion{{EventID: task.EventID, Token: task.token}}
	t.commit(req)
	is(t, "tasks of the waiting fetch after a commit completed the first", len(wait()), 1)
}

// The task is cancelled, or its instance ends, continues as new or is deleted.
func placesRemoved(t *trial) {
	for n, end := range []func(provider.Instance){
		func(i provider.Instance) { commitCancel(t, i, true) },
		func(i provider.Instance) { t.end(i) },
		func(i provider.Instance) { t.steer(i.Key, provider.SteerTerminate) },
		func(i provider.Instance) { t.continueAsNew(i) },
		func(i provider.Instance) { t.remove(i.Key, true) },
	} {
		i, _, wait := fillQueue(t, newTask(1))
		other := t.begin("other", func(r *provider.CommitTurnRequest) { r.Tasks = tasksOf(1) })
		end(i)
		list := wait()
		t.checkf(len(list) == 1 && list[0].Key == other.Key, "end %d: the waiting fetch got %d tasks, want 1", n, len(list))
		t.remove(other.Key, true)
		if n < 4 {
			t.remove(i.Key, true)
		}
	}
}

func placesOver(t *trial) {
	t.beginTasks(tasksOf(2)...)
	t.mustf(len(t.fetchTasks(limited(1), func(r *provider.FetchTasksRequest) { r.Lease = 3 * short })) == 1, "got no task, want 1")
	wait := parked(t, func() []leasedTask {
		return t.fetchTasks(limited(1), byOwner("node-b"), func(r *provider.FetchTasksRequest) { r.Wait = patience })
	})
	is(t, "tasks of the waiting fetch after the lease expired", len(wait()), 1)
}
