package validations

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// orderedReleased gives one rank to tasks of several instances, by releasing all tasks of a fetch at once. Before that, rows are updated
// and deleted, so that new ones may get their places. The keys disagree with the insertion.
func orderedReleased(t *trial) {
	const rounds, instances, each = 3, 4, 6
	var want []string
	for round := range rounds {
		for n := range instances {
			id := fmt.Sprint(round, "-", 9-n)
			i := t.create(id, against(round*instances+n), func(r *provider.CreateRequest) { r.Name = "setup-" + id })
			req := commitOf(t.fetchOne(named(id)))
			for event := range each {
				req.Tasks = append(req.Tasks, newTask(int64(event+1)))
				want = append(want, fmt.Sprint(i.ID, ".", event+1))
			}
			t.commit(req)
			t.pass(blink)
		}
		all := fetchTasksRequest()
		res, err := t.FetchTasks(t.ctx, all)
		t.ok(err)
		t.mustf(len(res.Tasks) == len(want), "got %d tasks, want %d", len(res.Tasks), len(want))
		for n, task := range res.Tasks {
			if n%5 == round {
				t.ok(t.report(leasedTask{task, provider.TaskToken(all.Token, task.TaskRef)}, provider.TaskComplete).Err)
				done := fmt.Sprint(task.InstanceID, ".", task.EventID)
				want = slices.DeleteFunc(want, func(name string) bool { return name == done })
			}
		}
		releaseToken(t, all.Token)
	}
	var got []string
	for most := 1; len(got) < len(want); most = most%7 + 1 {
		list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = most })
		t.mustf(len(list) > 0, "got no task after %d of %d", len(got), len(want))
		for _, task := range list {
			got = append(got, fmt.Sprint(task.InstanceID, ".", task.EventID))
		}
	}
	is(t, "the tasks of one rank", strings.Join(got, " "), strings.Join(want, " "))
}

// releaseToken releases all tasks that a fetch has leased.
func releaseToken(t *trial, token provider.UUID) {
	item := provider.TaskReport{Token: token, Outcome: provider.TaskReleaseAll}
	_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
	t.ok(err)
}
