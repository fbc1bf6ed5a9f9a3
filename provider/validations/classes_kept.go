package validations

import (
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/provider"
)

// keptCases checks what a call leaves out of its request: it stays as it is.
func keptCases() []testCase {
	return []testCase{
		{
			name: "details-and-failure", run: keptDetails,
			rule: "Nil keeps them. Only Retry changes the failure.",
		},
		{name: "renewed-details", run: keptRenewal, rule: "Nil Details keep the stored ones."},
	}
}

// keptTask is a leased task in its second attempt, with details and a failure.
func keptTasks(t *trial, n int) (i provider.Instance, list []leasedTask) {
	i = t.beginTasks(tasksOf(n)...)
	for _, task := range t.fetchTasks() {
		t.ok(t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Details, r.Failure = []byte("old"), []byte("boom") }).Err)
	}
	for range n { // with a token of its own for each
		list = append(list, t.fetchTasks(one)...)
	}
	t.mustf(len(list) == n, "got %d tasks, want %d", len(list), n)
	return i, list
}

// detailsGiven are what a request may say about details, and what is stored then.
func detailsGiven() map[string]string { return map[string]string{"nil": "old", "": "", "new": "new"} }

func keptDetails(t *trial) {
	outcomes := map[string]provider.TaskOutcome{
		"Release": provider.TaskRelease, "ReleaseAll": provider.TaskReleaseAll, "Discard": provider.TaskDiscard, "Park": provider.TaskPark,
		"Retry": provider.TaskRetry,
	}
	given := detailsGiven()
	i, list := keptTasks(t, len(outcomes)*len(given))
	type expected struct{ what, details, failure string }
	want := map[int64]expected{}
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		for _, details := range slices.Sorted(maps.Keys(given)) {
			task := list[0]
			list = list[1:]
			w := expected{fmt.Sprintf("%s with details %q", name, details), given[details], "boom"}
			t.ok(t.report(task, outcomes[name], func(r *provider.TaskReport) {
				if details != "nil" {
					r.Details = []byte(details)
				}
				switch r.Outcome {
				case provider.TaskReleaseAll:
					r.TaskRef, r.Attempt = provider.TaskRef{}, 0
				case provider.TaskRetry:
					r.Failure, w.failure = []byte("again"), "again"
				default:
				}
			}).Err)
			want[task.EventID] = w
		}
	}
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.mustf(len(res.Tasks) == len(want), "%d tasks, want %d", len(res.Tasks), len(want))
	for _, task := range res.Tasks {
		w := want[task.EventID]
		t.checkf(string(task.Details) == w.details && string(task.Failure) == w.failure, "%s: details %q and failure %q, want %q and %q",
			w.what, task.Details, task.Failure, w.details, w.failure)
		t.checkf(task.State != provider.TaskLeased, "%s: the task is leased, want it given up", w.what)
	}
}

func keptRenewal(t *trial) {
	for details, want := range detailsGiven() {
		i, list := keptTasks(t, 1)
		item := renewal(list[0])
		if details != "nil" {
			item.Details = []byte(details)
		}
		t.ok(t.renew(item).Err)
		got := t.infoOf(i.Key)
		t.checkf(string(got.Details) == want && string(got.Failure) == "boom", "a renewal with details %q: details %q and failure %q, want %q and \"boom\"",
			details, got.Details, got.Failure, want)
		t.remove(i.Key, true)
	}
}
