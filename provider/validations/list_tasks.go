package validations

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// listTasksCases checks an optional feature. The suite skips the cases of a provider without it.
func listTasksCases() []testCase {
	const (
		ordered  = "ListTasks returns pending tasks, a page at a time, in the order of key, execution and event ID."
		retrying = "ListTasksRequest.Retrying: only tasks whose Attempt or Deliveries is above 1"
		bound    = "A page ends before its Details and Failures exceed [MaxFetchBytes], " +
			"and may end once the provider has looked at [MinRows] rows, even without a task."
	)
	return append(needs(lacking[provider.TaskLister], []testCase{
		{name: "order", run: listTasksInOrder, rule: ordered},
		{name: "pages", run: listTasksPages, rule: "A page continues after Cursor."},
		{
			name: "changes-between-pages", run: listTasksChanges,
			rule: "So a task that begins, ends or is tried again between two pages hides no other, and none comes twice.",
		},
		{name: "page-of-bytes", run: listTasksBytes, rule: bound},
		{name: "large-task", run: listTasksLarge, rule: bound},
		{name: "deleting", run: listTasksDeleting, rule: "An instance that is being deleted has no tasks here.", lacks: lacking[provider.Mover]},
		{name: "retrying-attempts", run: listTasksAttempts, rule: retrying},
		{name: "retrying-deliveries", run: listTasksDeliveries, rule: retrying},
		{
			name: "queue-and-name", run: listTasksNamed,
			rule: "ListTasksRequest asks for a page of pending tasks: of all queues and activities unless Queue or Name is set.",
		},
		{name: "fields", run: listTasksFields, rule: "ListedTask is a pending task with its instance."},
		{name: "changes-nothing", run: listTasksReads, rule: "Its calls change nothing, and take no lease."},
		{name: "promised", run: listTasksPromised, rule: "A provider that implements it also applies Filter.Retrying and declares [Features].Retrying."},
	}), needs(lackingRetrying, []testCase{
		{
			name: "filter-retrying", run: filterRetrying,
			rule: "Filter.Retrying: Features.Retrying: only those with a pending task whose Attempt or Deliveries is above 1",
		},
		{
			name: "filter-once", run: filterRetryingOnce,
			rule: "Filter.Retrying: Features.Retrying: only those with a pending task whose Attempt or Deliveries is above 1",
		},
	})...)
}

// lister returns the provider for a call of ListTasks.
func (t *trial) lister() provider.TaskLister {
	lister, _ := provider.As[provider.TaskLister](t.trace.note("ListTasks"))
	return lister
}

// listTasks lists the tasks of all pages. between is called after each but the last one.
func listTasks(t *trial, req provider.ListTasksRequest, between func()) (list []provider.ListedTask) {
	most := cmp.Or(req.Max, provider.MaxPage)
	for {
		res, err := t.lister().ListTasks(t.ctx, req)
		t.ok(err)
		t.mustf(len(res.Tasks) <= most, "a page has %d tasks, want at most %d", len(res.Tasks), most)
		list = append(list, res.Tasks...)
		if req.Cursor = res.Cursor; req.Cursor == "" {
			return list
		}
		between()
	}
}

// listedAre checks which tasks are listed, each as its instance and event, and that they are in order.
func listedAre(t *trial, req provider.ListTasksRequest, want string) {
	list := listTasks(t, req, func() {})
	words := make([]string, 0, len(list))
	for n, task := range list {
		words = append(words, fmt.Sprint(task.InstanceID, task.EventID))
		if n > 0 {
			a, b := list[n-1].TaskRef, task.TaskRef
			order := cmp.Or(bytes.Compare(a.Key[:], b.Key[:]), cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.EventID, b.EventID))
			t.checkf(order < 0, "%+v lists %v before %v", req, a, b)
		}
	}
	slices.Sort(words)
	got := strings.Join(words, " ")
	t.checkf(got == want, "%+v lists %q, want %q", req, got, want)
}

// withTasks creates an instance with pending tasks.
func withTasks(t *trial, id string, events ...int64) provider.Instance {
	return t.begin(id, func(r *provider.CommitTurnRequest) {
		for _, event := range events {
			r.Tasks = append(r.Tasks, newTask(event))
		}
	})
}

// tryAgain reports a failure of an attempt of each task that can be fetched.
func tryAgain(t *trial) {
	for _, task := range t.fetchTasks() {
		t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Failure = []byte("failed") })
	}
}

func listTasksInOrder(t *trial) {
	withTasks(t, "a", 9, 11)
	withTasks(t, "b", 2, 10)
	withTasks(t, "c", 1)
	listedAre(t, provider.ListTasksRequest{}, "a11 a9 b10 b2 c1")
	t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 2 })
	listedAre(t, provider.ListTasksRequest{}, "a11 a9 b10 b2 c1")
}

func listTasksPages(t *trial) {
	withTasks(t, "a", 1, 2, 3)
	withTasks(t, "b", 1, 2)
	withTasks(t, "c", 1)
	for size := 1; size < 7; size++ {
		listedAre(t, provider.ListTasksRequest{Max: size}, "a1 a2 a3 b1 b2 c1")
	}
	tryAgain(t)
	listedAre(t, provider.ListTasksRequest{Max: 2, Retrying: true}, "a1 a2 a3 b1 b2 c1")
	_, err := t.lister().ListTasks(t.ctx, provider.ListTasksRequest{Cursor: "no cursor"})
	t.want(err, provider.ErrInvalid)
}

func listTasksChanges(t *trial) {
	order := []provider.Instance{withTasks(t, "a", 1, 2), withTasks(t, "b", 1, 2), withTasks(t, "c", 1, 2)}
	slices.SortFunc(order, func(a, b provider.Instance) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	a, b, c := order[0], order[1], order[2]
	round := 0
	seen := map[string]int{}
	for _, task := range listTasks(t, provider.ListTasksRequest{Max: 2}, func() {
		if round++; round == 1 {
			for _, task := range t.fetchTasks() {
				switch {
				case task.Key == a.Key && task.EventID == 1, task.Key == c.Key && task.EventID == 2:
					t.ok(t.report(task, provider.TaskComplete).Err)
				case task.EventID == 2:
					t.report(task, provider.TaskRetry)
				}
			}
			req := next(b, "more")
			req.Tasks = []provider.NewTask{newTask(3)}
			t.commit(req)
		}
	}) {
		seen[fmt.Sprint(task.InstanceID, task.EventID)]++
	}
	for _, name := range []string{a.ID + "1", a.ID + "2", b.ID + "1", b.ID + "2", c.ID + "1"} {
		t.checkf(seen[name] == 1, "the task %s is listed %d times, want once", name, seen[name])
	}
	t.checkf(seen[b.ID+"3"] <= 1 && seen[c.ID+"2"] <= 1, "listed tasks twice: %v", seen)
}

// listTasksBytes checks pages of payloads that only together are too large.
func listTasksBytes(t *trial) {
	withTasks(t, "a", 1, 2, 3, 4)
	half := bytes.Repeat([]byte("x"), provider.MaxFetchBytes/4)
	for _, task := range t.fetchTasks() {
		t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Failure, r.Details = half, half })
	}
	req := provider.ListTasksRequest{}
	for pages := 1; ; pages++ {
		res, err := t.lister().ListTasks(t.ctx, req)
		t.ok(err)
		size := 0
		for _, task := range res.Tasks {
			size += len(task.Details) + len(task.Failure)
		}
		t.checkf(size <= provider.MaxFetchBytes, "a page has %d bytes", size)
		if req.Cursor = res.Cursor; req.Cursor == "" {
			t.checkf(pages == 2, "got %d pages, want 2", pages)
			break
		}
	}
	listedAre(t, provider.ListTasksRequest{}, "a1 a2 a3 a4")
}

// listTasksLarge checks that a task that is alone too large is on a page of its own.
func listTasksLarge(t *trial) {
	withTasks(t, "a", 1, 2, 3)
	full := bytes.Repeat([]byte("x"), provider.MaxPayload)
	for _, task := range t.fetchTasks() {
		t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Failure, r.Details = full, full })
	}
	listedAre(t, provider.ListTasksRequest{}, "a1 a2 a3")
}

func listTasksDeleting(t *trial) {
	withTasks(t, "a", 1)
	away := withTasks(t, "b", 1)
	tryAgain(t)
	listedAre(t, provider.ListTasksRequest{}, "a1 b1")
	t.closed(away.Key)
	listedAre(t, provider.ListTasksRequest{}, "a1")
	listedAre(t, provider.ListTasksRequest{Retrying: true}, "a1")
}

func listTasksAttempts(t *trial) {
	withTasks(t, "a", 1, 2)
	listedAre(t, provider.ListTasksRequest{Retrying: true}, "")
	task := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 1 })[0]
	listedAre(t, provider.ListTasksRequest{Retrying: true}, "")
	t.report(task, provider.TaskRetry)
	listedAre(t, provider.ListTasksRequest{Retrying: true}, fmt.Sprint("a", task.EventID))
	for _, other := range t.fetchTasks() {
		if other.TaskRef == task.TaskRef {
			t.checkf(other.Attempt == 2 && other.Deliveries == 1, "it has attempt %d and %d deliveries", other.Attempt, other.Deliveries)
			listedAre(t, provider.ListTasksRequest{Retrying: true}, fmt.Sprint("a", task.EventID))
			t.ok(t.report(other, provider.TaskComplete).Err)
		}
	}
	listedAre(t, provider.ListTasksRequest{Retrying: true}, "")
}

// listTasksDeliveries checks a task whose first attempt was lost with its node.
func listTasksDeliveries(t *trial) {
	withTasks(t, "a", 1)
	withTasks(t, "b", 1)
	lost := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 1 }, brieflyTask)[0]
	listedAre(t, provider.ListTasksRequest{Retrying: true}, "")
	t.pass(2 * short)
	again := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 2 })
	for _, task := range again {
		if task.TaskRef == lost.TaskRef {
			t.checkf(task.Attempt == 1 && task.Deliveries == 2, "it has attempt %d and %d deliveries", task.Attempt, task.Deliveries)
			listedAre(t, provider.ListTasksRequest{Retrying: true}, fmt.Sprint(task.InstanceID, task.EventID))
			t.ok(t.report(task, provider.TaskComplete).Err)
		}
	}
	listedAre(t, provider.ListTasksRequest{Retrying: true}, "")
}

func listTasksNamed(t *trial) {
	t.begin("a", func(r *provider.CommitTurnRequest) {
		for n, of := range [][2]string{{"q1", "x"}, {"q1", "y"}, {"q2", "x"}} {
			task := newTask(int64(n + 1))
			task.Queue, task.Name = of[0], of[1]
			r.Tasks = append(r.Tasks, task)
		}
	})
	listedAre(t, provider.ListTasksRequest{}, "a1 a2 a3")
	listedAre(t, provider.ListTasksRequest{Queue: "q1"}, "a1 a2")
	listedAre(t, provider.ListTasksRequest{Name: "x"}, "a1 a3")
	listedAre(t, provider.ListTasksRequest{Queue: "q2", Name: "x", Max: 1}, "a3")
	listedAre(t, provider.ListTasksRequest{Queue: "q2", Name: "y"}, "")
	listedAre(t, provider.ListTasksRequest{Queue: "q1", Name: "x", Retrying: true}, "")
}

// listTasksFields checks that a listed task is the one that Get returns.
func listTasksFields(t *trial) {
	t.create("i", func(r *provider.CreateRequest) { r.CodeVersion = "v7" })
	u := t.fetchOne(func(r *provider.FetchTurnsRequest) { r.Capabilities[0].CodeVersion = "v7" })
	task, own := newTask(2), newTask(4)
	task.Priority, task.FairnessKey, task.StartBy, task.Deadline = 2, "f", 2*long, 3*long
	req := commitOf(u, "started")
	req.Tasks = []provider.NewTask{task, own}
	t.commit(req)
	tryAgain(t)
	t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	got, err := t.Get(t.ctx, provider.GetRequest{ID: "i", WithTasks: true})
	t.ok(err)
	list := listTasks(t, provider.ListTasksRequest{}, func() {})
	t.mustf(len(list) == len(got.Tasks), "%d tasks are listed, want %d", len(list), len(got.Tasks))
	for n, task := range list {
		t.checkf(describe(task.TaskInfo, true) == describe(got.Tasks[n], true), "listed %+v, want %+v", task.TaskInfo, got.Tasks[n])
		t.checkf(task.InstanceID == "i" && task.Orchestration == got.Instance.Name && task.CodeVersion == "v7", "listed %q, %q, %q",
			task.InstanceID, task.Orchestration, task.CodeVersion)
	}
}

func listTasksReads(t *trial) {
	withTasks(t, "a", 1, 2)
	tryAgain(t)
	t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	t.wholeUnchanged("a list of tasks", func() {
		listTasks(t, provider.ListTasksRequest{Max: 1}, func() {})
		listTasks(t, provider.ListTasksRequest{Retrying: true}, func() {})
	})
}

func listTasksPromised(t *trial) {
	t.checkf(provider.FeaturesOf(t.store).Retrying, "the provider is a TaskLister and does not declare Features.Retrying")
}

// retryingAre checks what List and Count choose, page by page too.
func retryingAre(t *trial, filter provider.Filter, want string) {
	filter.Retrying = true
	checkList(t, filter, want)
	names := strings.Fields(want)
	pages := listPages(t, filter, 1, func() {})
	t.checkf(len(pages) == len(names), "filter %+v lists %q in pages of one, want %q", filter, idsOf(pages), want)
	for _, most := range []int64{0, 1000} {
		res, err := t.Count(t.ctx, provider.CountRequest{Filter: filter, Max: most})
		t.ok(err)
		t.checkf(res.Exact && res.Count == int64(len(names)), "filter %+v counts %+v, want exactly %d", filter, res, len(names))
	}
}

// filterRetrying checks the filter alone and with others.
func filterRetrying(t *trial) {
	withTasks(t, "waits", 1)
	t.fetchTasks()
	a := withTasks(t, "a", 1)
	t.pass(blink)
	b, lost := withTasks(t, "b", 1), withTasks(t, "lost", 1)
	retryingAre(t, provider.Filter{}, "")
	for _, task := range t.fetchTasks(brieflyTask) {
		if task.Key != lost.Key {
			t.report(task, provider.TaskRetry)
		}
	}
	retryingAre(t, provider.Filter{}, "a b")
	t.pass(2 * short)
	again := t.fetchTasks()
	retryingAre(t, provider.Filter{}, "a b lost")
	t.steer(a.Key, provider.SteerSuspend)
	retryingAre(t, provider.Filter{}, "a b lost")
	retryingAre(t, provider.Filter{IDPrefix: "b"}, "b")
	retryingAre(t, provider.Filter{Statuses: []provider.Status{provider.StatusSuspended}}, "a")
	retryingAre(t, provider.Filter{Name: "nobody"}, "")
	retryingAre(t, provider.Filter{Replaced: true, CreatedAfter: b.CreatedAt}, "b lost")
	retryingAre(t, provider.Filter{EndedAfter: 1}, "")
	for _, task := range again {
		if task.Key == b.Key {
			t.ok(t.report(task, provider.TaskComplete).Err)
		}
	}
	retryingAre(t, provider.Filter{}, "a lost")
	retryingAre(t, provider.Filter{ParentKeys: []provider.UUID{a.Key}}, "")
}

// filterRetryingOnce checks an instance with several tasks.
func filterRetryingOnce(t *trial) {
	withTasks(t, "many", 1, 2, 3, 4, 5)
	withTasks(t, "one", 1)
	tryAgain(t)
	retryingAre(t, provider.Filter{}, "many one")
	res, err := t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{Retrying: true}, Max: 1})
	t.ok(err)
	t.checkf(res.Count == 1 && !res.Exact, "counted %+v, want one of more", res)
	list := slices.Compact(strings.Fields(idsOf(listPages(t, provider.Filter{Retrying: true}, 2, func() {}))))
	t.checkf(len(list) == 2, "listed %v", list)
}
