package validations

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// begunCases are about tasks that must have begun by some moment.
func begunCases() []testCase {
	const kept = "An expired lease leaves it begun, and so does Retry: StartBy limits the first attempt only."
	const given = "A task that was handed off has begun, and so has one that was parked without a Limit."
	return []testCase{
		{name: "start-by", run: begunTooLate, rule: "A task is past its time when its Deadline has passed, or when its StartBy has passed and it has not begun."},
		{
			name: "released-begun", run: begunReleased,
			rule: "TaskReport.Begun: Release: the code has begun to run, so that StartBy no longer ends the task",
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
		{name: "begun-by-hand-off", run: begunHandedOff, rule: given},
		{name: "begun-by-parking", run: begunParked, rule: given},
		{
			name: "parked-with-a-limit", run: parkedForAWhile, broad: true,
			rule: "Limit becomes the StartBy of the parked task, and the task has then not begun until it is retried.",
		},
	}
}

// leaseInTime creates an instance with a task that is leased for work before its StartBy, and answers that time. Should the fetch
// come too late, it tries again with more time.
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

// fetchForWork checks that the only task there is can be fetched to be run.
func fetchForWork(t *trial) leasedTask {
	task := t.fetchTask()
	t.checkf(!task.PastDeadline, "the task counts as past its time: %+v", task)
	return task
}

// fetchExpired checks that the only task there is cannot be fetched any more but to be ended.
func fetchExpired(t *trial) leasedTask {
	t.checkf(len(t.fetchTasks()) == 0, "a task that had not begun in time was fetched for work")
	task := t.fetchTask(expired)
	t.checkf(task.PastDeadline, "the task does not count as past its time: %+v", task)
	return task
}

func begunTooLate(t *trial) {
	task := newTask(1)
	task.StartBy, task.Deadline = short, long
	i := t.beginTasks(task)
	t.pass(2 * short)
	late := fetchExpired(t)
	t.checkf(late.StartBy >= late.ScheduledAt.Add(short) && late.StartBy < late.Deadline, "got %+v", late)
	t.ok(t.report(late, provider.TaskRelease).Err)
	t.ok(t.report(fetchExpired(t), provider.TaskComplete).Err) // who ends it does not begin it
	t.checkf(t.get(i.Key).InboxMessages == 1, "its end brought no message")
}

func releasedBegun(r *provider.TaskReport) { r.Begun = true }

func begunReleased(t *trial) {
	task, span := leaseInTime(t)
	t.pass(span)
	t.ok(t.report(task, provider.TaskRelease, releasedBegun).Err)
	fetchForWork(t)
}

// A lease that is released without Begun takes back nothing but itself.
func begunForGood(t *trial) {
	task, span := leaseInTime(t)
	t.ok(t.report(task, provider.TaskRelease, releasedBegun).Err)
	again := fetchForWork(t)
	t.checkf(again.StartBy == 0, "the task has begun, and must begin by %d", again.StartBy)
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
	all := provider.TaskReport{Token: task.token, Outcome: provider.TaskRelease} // without a TaskRef
	_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{all}})
	t.ok(err)
	fetchExpired(t)
}

func begunLost(t *trial) {
	_, span := leaseInTime(t, brieflyTask)
	t.pass(span + short)
	task := fetchForWork(t)
	t.ok(t.report(task, provider.TaskRelease).Err) // it was another lease that began it
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
	t.checkf(len(t.fetchTasks(expired)) == 0, "a parked task counts as one that has not begun")
	t.ok(t.report(late, provider.TaskComplete).Err)
}

// parkInTime parks a task with a Limit, and finds that it is not past its time at once. Should the fetch come too late, it
// tries again with a longer Limit. It returns what the task was leased with, and the Limit.
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
		t.mustf(limit < long/2, "a parked task was past its time at once, with a Limit of %v", limit)
		t.ok(t.report(late[0], provider.TaskComplete).Err)
	}
}

func parkedForAWhile(t *trial) {
	held, span := parkInTime(t)
	t.pass(span + short)
	late := fetchExpired(t)
	t.checkf(late.StartBy > late.ScheduledAt && late.StartBy < late.Deadline, "got %+v", late)
	t.checkf(errors.Is(t.report(held, provider.TaskComplete).Err, provider.ErrLeaseLost), "the token of the park is still good")
	t.ok(t.report(late, provider.TaskRetry).Err)
	again := t.fetchTask()
	t.checkf(!again.PastDeadline && again.Attempt == 2, "got %+v", again)
}
