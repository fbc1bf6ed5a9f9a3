package validations

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// begunCases checks tasks that must have begun by some instant.
func begunCases() []testCase {
	const kept = "An expired lease leaves it begun, and so does Retry: StartBy limits the first attempt only."
	return []testCase{
		{name: "start-by", run: begunTooLate, rule: "A task is past its time when its Deadline has passed, or when its StartBy has passed and it has not begun."},
		{
			name: "released-begun", run: begunReleased,
			rule: "TaskReport.Begun: Release and ReleaseAll: the code has begun to run, so that StartBy no longer ends the task",
		},
		{
			name: "released-begun-and-released", run: begunForGood,
			rule: "With Begun, the task has begun for good and loses its StartBy.",
		},
		{
			name: "released-before-it-began", run: begunNot,
			rule: "A task has begun once it is leased for work, before it is past its time. It has not begun if that lease is released without Begun.",
		},
		{name: "begun-and-lost", run: begunLost, rule: kept},
		{name: "begun-and-tried-again", run: begunRetried, rule: kept},
		{name: "begun-by-hand-off", run: begunHandedOff, rule: "A task that was handed off has begun, unless it is released without Begun."},
		{name: "begun-by-parking", run: begunParked, rule: "One that was parked without a Limit has begun."},
		{
			name: "parked-with-a-limit", run: parkedForAWhile, broad: true,
			rule: "Limit becomes the StartBy of the parked task, and the task has then not begun until it is retried.",
		},
	}
}

// leaseInTime creates an instance with a task, leases the task for work before its StartBy, and returns the time until then.
// If the fetch is too late it tries again with more time.
func leaseInTime(t *trial, changes ...func(*provider.FetchTasksRequest)) (leasedTask, time.Duration) {
	n, span := 0, 4*short
	for {
		task := newTask(1)
		task.StartBy = span
		t.begin(fmt.Sprint("i", n), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
		one := t.fetchTask(append(changes, expired)...)
		if !one.PastDeadline {
			return one, span
		}
		t.ok(t.report(one, provider.TaskComplete).Err)
		n, span = n+1, 2*span
	}
}

// fetchForWork checks that the only task is fetchable for work.
func fetchForWork(t *trial) leasedTask {
	task := t.fetchTask()
	t.checkf(!task.PastDeadline, "got %+v, want a task that is not past its time", task)
	return task
}

// fetchExpired checks that the only task is fetchable only to be ended.
func fetchExpired(t *trial) leasedTask {
	is(t, "tasks fetched for work after StartBy", len(t.fetchTasks()), 0)
	task := t.fetchTask(expired)
	t.checkf(task.PastDeadline, "got %+v, want a task past its time", task)
	return task
}

func begunTooLate(t *trial) {
	task := newTask(1)
	task.StartBy, task.Deadline = short, long
	i := t.beginTasks(task)
	t.pass(2 * short)
	late := fetchExpired(t)
	t.checkf(late.StartBy >= late.ScheduledAt.Add(short) && late.StartBy < late.Deadline, "got %+v, want StartBy as given and before the Deadline", late)
	t.ok(t.report(late, provider.TaskRelease).Err)
	t.ok(t.report(fetchExpired(t), provider.TaskComplete).Err) // ending a task does not begin it
	is(t, "messages after the end of the task", t.get(i.Key).InboxMessages, 1)
}

func releasedBegun(r *provider.TaskReport) { r.Begun = true }

func begunReleased(t *trial) {
	task, span := leaseInTime(t)
	t.pass(span)
	t.ok(t.report(task, provider.TaskRelease, releasedBegun).Err)
	fetchForWork(t)
}

// A release without Begun undoes only its own lease.
func begunForGood(t *trial) {
	task, span := leaseInTime(t)
	t.ok(t.report(task, provider.TaskRelease, releasedBegun).Err)
	again := fetchForWork(t)
	t.checkf(again.StartBy == 0, "the task has StartBy %d, want 0 after it has begun", again.StartBy)
	t.ok(t.report(again, provider.TaskRelease).Err)
	t.pass(span)
	t.ok(t.report(fetchForWork(t), provider.TaskRelease).Err)
	fetchForWork(t)
}

func begunNot(t *trial) {
	task, span := leaseInTime(t)
	t.pass(span)
	t.ok(t.report(task, provider.TaskRelease).Err)
	fetchExpired(t)
}

func begunNone(t *trial) {
	task, span := leaseInTime(t)
	t.pass(span)
	all := provider.TaskReport{Token: task.token, Outcome: provider.TaskReleaseAll}
	_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{all}})
	t.ok(err)
	fetchExpired(t)
}

func begunLost(t *trial) {
	_, span := leaseInTime(t, brieflyTask)
	t.pass(span + short)
	task := fetchForWork(t)
	t.ok(t.report(task, provider.TaskRelease).Err) // an earlier lease began it
	fetchForWork(t)
}

func begunRetried(t *trial) {
	task, span := leaseInTime(t)
	t.pass(span)
	t.ok(t.report(task, provider.TaskRetry).Err)
	task = fetchForWork(t)
	t.ok(t.report(task, provider.TaskRelease).Err)
	fetchForWork(t)
}

func begunHandedOff(t *trial) {
	task, _ := handedOff()
	task.StartBy, task.Lease.Duration = short, 2*short
	t.beginTasks(task)
	t.pass(3 * short)
	fetchForWork(t)
}

func begunParked(t *trial) {
	task := newTask(1)
	task.StartBy = short
	t.beginTasks(task)
	t.pass(2 * short)
	late := fetchExpired(t)
	t.ok(t.report(late, provider.TaskPark).Err)
	is(t, "parked tasks past their time", len(t.fetchTasks(expired)), 0)
	t.ok(t.report(late, provider.TaskComplete).Err)
}

// parkInTime parks a task with a Limit and checks that it is not past its time at once. If the fetch is too late it tries again
// with a longer Limit. It returns the lease of the task and the Limit.
func parkInTime(t *trial) (held leasedTask, limit time.Duration) {
	for n, limit := 0, 3*short; ; n, limit = n+1, 2*limit {
		task := newTask(1)
		task.Deadline = 20 * long
		t.begin(fmt.Sprint("i", n), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
		held := t.fetchTask()
		t.ok(t.report(held, provider.TaskPark, func(r *provider.TaskReport) { r.Limit = limit }).Err)
		late := t.fetchTasks(expired)
		if len(late) == 0 {
			return held, limit
		}
		t.mustf(limit < long/2, "a task parked with a Limit of %v was past its time at once", limit)
		t.ok(t.report(late[0], provider.TaskComplete).Err)
	}
}

func parkedForAWhile(t *trial) {
	held, span := parkInTime(t)
	t.pass(span + short)
	late := fetchExpired(t)
	t.checkf(late.StartBy > late.ScheduledAt && late.StartBy < late.Deadline, "got %+v, want StartBy from the Limit and before the Deadline", late)
	t.checkf(errors.Is(t.report(held, provider.TaskComplete).Err, provider.ErrLeaseLost),
		"the completion token of an ended park still holds the task, want ErrLeaseLost")
	t.ok(t.report(late, provider.TaskRetry).Err)
	again := t.fetchTask()
	t.checkf(!again.PastDeadline && again.Attempt == 2, "got %+v, want attempt 2, not past its time", again)
}
