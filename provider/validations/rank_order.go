package validations

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// The rule of tasks that share a rank, and why they can be merged.
const (
	equalRanks    = "The others come by rank, equal ranks by ScheduledAt, and tasks scheduled at one moment by event ID."
	returnedRanks = "Rank and ScheduledAt are returned, so that tasks of several fetches can be merged."
)

// orderedEqualRanks makes newcomers to a queue, each with the rank of the first waiting task. Their keys, names and event IDs disagree
// with the order of their commits.
func orderedEqualRanks(t *trial) {
	names := []string{"act1", "act0"}
	stock := func(n int, fairness ...string) {
		id := fmt.Sprint(fairness[0], 9-n)
		t.create(id, against(n), func(r *provider.CreateRequest) { r.Name = "setup-" + id })
		req := commitOf(t.fetchOne(named(id)))
		for k, key := range fairness {
			task := newTask(int64(20 - n + k))
			task.Name, task.FairnessKey, task.Payload = names[n%2], key, []byte(key)
			req.Tasks = append(req.Tasks, task)
		}
		t.commit(req)
		t.pass(blink)
	}
	take := func(most int, changes ...func(*provider.FetchTasksRequest)) (got []string) {
		for _, task := range t.fetchTasks(append(changes, func(r *provider.FetchTasksRequest) {
			r.Max, r.Queues[0].Names = most, []string{"act0", "act1"}
		})...) {
			got = append(got, string(task.Payload))
		}
		return got
	}
	limited := func(r *provider.FetchTasksRequest) { r.Queues[0].MaxLeased = 10 }
	stock(0, "a", "a")
	is(t, "the task before them", strings.Join(take(1), " "), "a")
	for n, key := range []string{"b", "c", "d", "e", "f"} {
		stock(n+1, key)
	}
	got := slices.Concat(take(1), take(2, limited), take(2), take(1, limited))
	is(t, "tasks of one rank", strings.Join(got, " "), "a b c d e f")
}

// rankReturned fetches the tasks of each activity apart.
func rankReturned(t *trial) {
	stockQueue(t, "i", "a1 other", "a2", "a3 other", "-1", "-2 urgent")
	stockQueue(t, "j", "-3 other", "-4", "b1 other")
	const each = 4
	names := []string{activity, "other"}
	list := make([]leasedTask, 0, len(names)*each)
	for _, name := range names {
		for range each {
			list = append(list, t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max, r.Queues[0].Names = 1, []string{name} }))
		}
	}
	slices.SortFunc(list, func(a, b leasedTask) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ScheduledAt, b.ScheduledAt), cmp.Compare(a.EventID, b.EventID))
	})
	got := make([]string, 0, len(list))
	for _, task := range list {
		got = append(got, string(task.Payload))
		switch name := string(task.Payload); name {
		case "-1", "-3", "-4":
			is(t, "rank of a task without delay", task.Rank, task.ScheduledAt)
		case "-2":
			is(t, "rank of an urgent task", task.Rank, task.ScheduledAt.Add(-2*provider.PriorityStep))
		}
	}
	is(t, "the tasks by what was returned", strings.Join(got, " "), "-2 a1 -1 -3 -4 b1 a2 a3")
}

// rankReturnedLate fetches tasks past their time apart from one that is not.
func rankReturnedLate(t *trial) {
	sooner, later := newTask(1), newTask(2)
	sooner.Deadline, later.Deadline = short, short+blink
	t.beginTasks(sooner, later)
	t.pass(2 * short)
	list := t.fetchTasks(expired)
	t.mustf(len(list) == 2, "got %d tasks, want 2", len(list))
	for n, task := range list {
		is(t, "event ID", task.EventID, int64(n+1))
		is(t, "rank of a task past its time", task.Rank, task.Deadline)
	}
}
