package validations

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// placeCases checks the second item where the first one is handled well, the place of an instance after a hold, and the last page.
func placeCases() []testCase {
	return append([]testCase{
		{
			name: "second-completion", run: secondCompletion,
			rule: "[ErrLeaseLost]: the task of a Completes item is not leased under the item's token.",
		},
		{name: "all-tasks-of-a-token", run: secondReleaseAll, rule: "ReleaseAll releases all tasks that its Token holds, whatever their Attempt."},
		{
			name: "limit-within-one-fetch", run: secondPlace,
			rule: "Such a task counts towards MaxLeased like any other, also for the tasks of the same fetch.",
		},
		{name: "last-page", run: lastPage, rule: "ListResult is a page. Cursor is \"\" after the last one."},
	}, needs(lacking[provider.Inspector], []testCase{
		{name: "last-page-of-rows", run: lastPageOfRows, rule: "InspectResult is a page: the list of the kind asked for. Cursor is \"\" after the last one."},
	})...)
}

// secondCompletion puts a completion that is lost before and after a good one.
func secondCompletion(t *trial) {
	first, token := handedOff()
	leased := func(event int64) provider.NewTask {
		task, _ := handedOff()
		task.EventID = event
		return task
	}
	second, parked := leased(2), leased(3)
	i := t.beginTasks(first, second, parked, newTask(4))
	t.ok(t.report(leasedTask{provider.LeasedTask{TaskRef: ref(i, 3), Attempt: 1}, parked.Lease.Token}, provider.TaskPark).Err)
	good := provider.TaskCompletion{EventID: 1, Token: token}
	for what, lost := range map[string]provider.TaskCompletion{
		"an unknown token": {EventID: 2, Token: unique()},
		"another's token":  {EventID: 2, Token: token},
		"a parked task":    {EventID: 3, Token: parked.Lease.Token},
		"a queued task":    {EventID: 4, Token: unique()},
		"an unknown task":  {EventID: 9, Token: unique()},
	} {
		for _, list := range [][]provider.TaskCompletion{{good, lost}, {lost, good}} {
			req := next(i, "event")
			req.Completes = list
			t.unchanged(i.Key, func() {
				_, err := t.CommitTurn(t.ctx, req)
				t.checkf(errors.Is(err, provider.ErrLeaseLost), "a commit that completes %s returned %v, want ErrLeaseLost", what, err)
			})
		}
	}
	req := next(i)
	req.Completes = []provider.TaskCompletion{good, {EventID: 2, Token: second.Lease.Token}}
	t.commit(req)
	t.tasksAre(i.Key, "3 4")
}

// secondReleaseAll releases what a fetch has leased: tasks of two instances, one of them with a token of its own.
func secondReleaseAll(t *trial) {
	both := func(r *provider.FetchTasksRequest) {
		r.Queues = append(r.Queues, provider.QueueFilter{Queue: "elsewhere", Names: []string{activity}})
	}
	elsewhere := newTask(3)
	elsewhere.Queue = "elsewhere"
	t.beginTasks(newTask(1), newTask(2), elsewhere)
	t.begin("j", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(4)} })
	req := with(fetchTasksRequest(), both)
	res, err := t.FetchTasks(t.ctx, req)
	t.ok(err)
	t.mustf(len(res.Tasks) == 4, "got %d tasks, want 4", len(res.Tasks))
	other := t.begin("k", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(5)} })
	held := t.fetchTask()
	item := provider.TaskReport{Token: req.Token, Outcome: provider.TaskReleaseAll}
	_, err = t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
	t.ok(err)
	list := t.fetchTasks(both)
	t.mustf(len(list) == 4, "got %d tasks after the release, want all 4", len(list))
	for _, task := range list {
		t.checkf(task.Key != other.Key && task.Deliveries == 1, "task %d is on delivery %d, want 1", task.EventID, task.Deliveries)
	}
	t.ok(t.report(held, provider.TaskComplete).Err)
}

// secondPlace fetches a task past its time together with others of a queue at its limit.
func secondPlace(t *trial) {
	tasks := tasksOf(4)
	tasks[0].Deadline = short
	t.beginTasks(tasks...)
	t.pass(2 * short)
	list := t.fetchTasks(limited(1), expired)
	t.mustf(events(list) == "1", "got tasks %q under a limit of 1, want only the one past its time", events(list))
	t.noTask("the task past its time is leased", limited(1), expired)
	is(t, "the tasks with one more place", events(t.fetchTasks(limited(2), expired)), "2")
	t.ok(t.report(list[0], provider.TaskRetry).Err) // at once past its time again
	is(t, "the tasks with three places", events(t.fetchTasks(limited(3), expired)), "1 3")
}

// lastPage lists in pages of which the last one is full.
func lastPage(t *trial) {
	const count = 4
	for n := range count {
		t.create(fmt.Sprint(n))
	}
	for _, size := range []int{1, 2, 4, 5} {
		var cursor string
		for seen := 0; seen < count; {
			res, err := t.List(t.ctx, provider.ListRequest{Max: size, Cursor: cursor})
			t.ok(err)
			t.mustf(len(res.Instances) == min(size, count), "%d instances of a page of %d, want %d", len(res.Instances), size, min(size, count))
			seen += len(res.Instances)
			cursor = res.Cursor
			t.checkf((cursor == "") == (seen == count), "Cursor is %q after %d of %d instances, want it empty after the last one only", cursor, seen, count)
		}
	}
}

func lastPageOfRows(t *trial) {
	furnishedFamily(t, "i")
	for kind := provider.InspectInstances; kind <= provider.InspectDeadLetters; kind++ {
		all := rowsOf(t, kind, provider.UUID{})
		t.mustf(all > 0 || kind == provider.InspectAsks, "no rows of kind %d, want some", kind)
		for _, size := range []int{1, 2} {
			cursor := ""
			for seen := 0; seen < all; {
				res := inspect(t, kind, func(r *provider.InspectRequest) { r.Max, r.Cursor = size, cursor })
				n := countRows(res)
				t.mustf(n > 0, "a page of kind %d is empty after %d of %d rows", kind, seen, all)
				seen += n
				cursor = res.Cursor
				t.checkf((cursor == "") == (seen == all), "kind %d: Cursor is %q after %d of %d rows, want it empty after the last one only", kind, cursor, seen, all)
			}
		}
	}
}
