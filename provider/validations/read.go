package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

func readCases() []testCase {
	const onlyNamed = "With Waiting or Running, it returns what these name and need not count anything else."
	const history = "ReadHistory returns events From to To of one execution in order, as many as fit MaxBytes, but at least one if there is one."
	const list = "List returns the instances that match the filter, a page at a time. The newest creation comes first, then keys descend."
	return []testCase{
		{
			name: "history-range", run: readRange,
			rule: "ReadHistoryRequest asks for events From (at least 1) to To (0: the end) of an execution (0: the current one).",
		},
		{name: "history-bytes", run: readBytes, rule: history},
		{name: "history-unknown", run: readUnknown, rule: "It returns ErrNotFound for an unknown key or execution."},
		{name: "history-of-ended", run: readEnded, rule: "Ended and replaced executions are readable until deleted."},
		{name: "list-order-and-pages", run: readPages, rule: list},
		{
			name: "list-while-changing", run: readChanging,
			rule: "A page continues after Cursor, so that instances created or ended between two pages neither repeat nor hide others.",
		},
		{name: "list-filters", run: readFilters, rule: "Zero fields do not restrict."},
		{name: "list-of-parents", run: readParents, rule: "Filter.ParentKeys: any of them; at most MaxPage"},
		{name: "list-attributes", run: readAttributes, rule: "Filter.Attributes: all must be equal"},
		{name: "list-replaced", run: readReplaced, rule: "Filter.Replaced: also instances that another one has replaced, even if that one is deleted"},
		{name: "count", run: readCount, rule: "Count returns how many instances match the filter."},
		{name: "stats", run: readStats, rule: "Stats returns figures about waiting work, for health and metrics."},
		{name: "stats-waiting", run: readWaiting, rule: onlyNamed},
		{name: "stats-running", run: readRunning, rule: "StatsResult.Running: Running and Suspended, by name and version"},
		{name: "stats-only-running", run: readOnlyRunning, rule: onlyNamed},
		{name: "stats-oldest-running", run: readOldest, rule: "RunningInstances.Oldest: when the oldest of them was created"},
		{name: "stats-most-running", run: readMost, rule: "StatsRequest.Most: not 0: count each item of Running no further than this"},
		{name: "stats-more-running", run: readMost, rule: "RunningInstances.More: there are more than Count, which is StatsRequest.Most"},
		{name: "get-unknown", run: readGetUnknown, rule: "It returns [ErrNotFound] for an unknown instance."},
		{name: "get-by-key-or-id", run: getNamed, rule: "Get returns one instance, by ID (the current key under it) or by Key."},
		{name: "get-tasks", run: rowTasks, rule: "GetResult.Tasks: WithTasks: pending activity tasks, by event ID"},
		{name: "updated-at", run: rowUpdatedAt, rule: "Instance.UpdatedAt: last change of Version"},
		{name: "history-default-page", run: historyDefault, rule: "ReadHistoryRequest.MaxBytes: 0: MaxFetchBytes"},
		{name: "list-default-page", run: listDefault, rule: "ListRequest.Max: 1 to MaxPage; 0: MaxPage"},
		{name: "stats-instances", run: statsInstances, rule: "StatsResult.Instances: Running to Terminated"},
		{
			name: "stats-commits", run: statsTransactions, lacks: lacking[provider.Counter],
			rule: "Counters.Commits: transactions that changed the store",
		},
		{name: "stats-turn-commits", run: statsCommits, lacks: lacking[provider.Counter], rule: "Counters.CommitGroups: turn commits in these transactions"},
	}
}

func readRange(t *trial) {
	i := t.begin("i")
	t.commit(next(i, "b", "c", "d"))
	for _, c := range []struct {
		from, to int64
		want     string
	}{{1, 0, "1234"}, {2, 3, "23"}, {4, 4, "4"}, {3, 99, "34"}, {5, 0, ""}, {5, 4, ""}} {
		ids, res := readHistory(t, provider.ReadHistoryRequest{Key: i.Key, From: c.from, To: c.to})
		t.checkf(ids == c.want && !res.More && res.Length == 4, "events %d to %d: got %q, more %v, want %q and no more of 4", c.from, c.to, ids, res.More, c.want)
	}
	_, res := readHistory(t, provider.ReadHistoryRequest{Key: i.Key, From: 1})
	t.checkf(res.Execution == 1 && res.Status == provider.StatusRunning && res.Version == t.get(i.Key).Version,
		"got %+v, want execution 1, Running, at the stored version", res)
}

func readBytes(t *trial) {
	i := t.begin("i")
	t.commit(next(i, "bb", "cc", "d"))
	for _, c := range []struct {
		from, to int64
		bytes    int
		want     string
		more     bool
	}{{1, 0, 1, "1", true}, {2, 0, 4, "23", true}, {2, 3, 4, "23", false}, {2, 0, 5, "234", false}, {3, 0, 1, "3", true}} {
		ids, res := readHistory(t, provider.ReadHistoryRequest{Key: i.Key, From: c.from, To: c.to, MaxBytes: c.bytes})
		t.checkf(ids == c.want && res.More == c.more, "%+v: got %q, more %v, want %q and %v", c, ids, res.More, c.want, c.more)
	}
}

func readUnknown(t *trial) {
	i := t.begin("i")
	_, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: unique(), From: 1})
	t.want(err, provider.ErrNotFound)
	_, err = t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, Execution: 2, From: 1})
	t.want(err, provider.ErrNotFound)
}

func readEnded(t *trial) {
	i := t.end(t.begin("i"))
	t.create("i", replace)
	_, res := readHistory(t, provider.ReadHistoryRequest{Key: i.Key, From: 1})
	t.checkf(res.Status == provider.StatusCompleted && res.Length == 1, "got %+v, want the ended execution with one event", res)
}

func readPages(t *trial) {
	for n := range 7 {
		t.create(fmt.Sprint("i", n))
	}
	for _, size := range []int{1, 3, 7, 100} {
		list := listPages(t, provider.Filter{}, size, func() {})
		t.checkf(len(list) == 7, "pages of %d: got %s, want all 7", size, idsOf(list))
		for n := 1; n < len(list); n++ {
			a, b := list[n-1], list[n]
			newer := a.CreatedAt > b.CreatedAt || (a.CreatedAt == b.CreatedAt && string(a.Key[:]) > string(b.Key[:]))
			t.checkf(newer, "pages of %d: %s comes before %s, want the newest first", size, a.ID, b.ID)
		}
	}
}

func readChanging(t *trial) {
	made := map[string]provider.Instance{}
	for n := range 6 {
		id := fmt.Sprint("i", n)
		made[id] = t.create(id)
	}
	n := 0
	checkListedOnce(t, provider.Filter{}, made, func([]provider.Instance) {
		t.create(fmt.Sprint("new", n))
		n++
	})
	running := provider.Filter{IDPrefix: "i", Statuses: []provider.Status{provider.StatusRunning}}
	checkListedOnce(t, running, made, func(shown []provider.Instance) {
		t.steer(shown[len(shown)-1].Key, provider.SteerTerminate)
	})
}

// checkListedOnce checks that a list shows each instance once although between changes the store.
func checkListedOnce(t *trial, filter provider.Filter, made map[string]provider.Instance, between func(shown []provider.Instance)) {
	seen := map[string]int{}
	for _, i := range listPagesAfter(t, filter, 2, between) {
		seen[i.ID]++
	}
	for id := range made {
		t.checkf(seen[id] == 1, "%s was listed %d times, want 1", id, seen[id])
	}
}

func readFilters(t *trial) {
	a := t.create("a_1", func(r *provider.CreateRequest) { r.Name = "other" })
	b := t.create("ab2", func(r *provider.CreateRequest) {
		r.Parent = provider.Parent{Key: a.Key, ID: "a_1", Execution: 1, EventID: 1}
	})
	t.block(t.fetchOne(), true)
	c := t.create("c%", func(r *provider.CreateRequest) { r.Name = "other" })
	t.steer(c.Key, provider.SteerTerminate)
	checkList(t, provider.Filter{}, "a_1 ab2 c%")
	checkList(t, provider.Filter{IDPrefix: "a"}, "a_1 ab2")
	checkList(t, provider.Filter{IDPrefix: "a_"}, "a_1")
	checkList(t, provider.Filter{IDPrefix: "%"}, "")
	checkList(t, provider.Filter{IDPrefix: "A"}, "")
	checkList(t, provider.Filter{Name: "other"}, "a_1 c%")
	checkList(t, provider.Filter{Statuses: []provider.Status{provider.StatusTerminated}}, "c%")
	checkList(t, provider.Filter{Statuses: []provider.Status{provider.StatusTerminated, provider.StatusRunning}}, "a_1 ab2 c%")
	checkList(t, provider.Filter{Blocked: true}, "ab2")
	checkList(t, provider.Filter{ParentKey: a.Key}, "ab2")
	checkList(t, provider.Filter{CreatedAfter: b.CreatedAt, CreatedBefore: b.CreatedAt}, "")
	checkList(t, provider.Filter{CreatedAfter: a.CreatedAt, CreatedBefore: c.CreatedAt + 1}, "a_1 ab2 c%")
	checkList(t, provider.Filter{CreatedAfter: c.CreatedAt + 1}, "")
}

func readParents(t *trial) {
	keys := make([]provider.UUID, 0, 3)
	for _, id := range []string{"a", "b", "c"} {
		parent := t.create(id)
		keys = append(keys, parent.Key)
		for n := range 2 {
			t.create(fmt.Sprint(id, n), func(r *provider.CreateRequest) {
				r.Parent = provider.Parent{Key: parent.Key, ID: id, Execution: 1, EventID: int64(1 + n)}
			})
			t.pass(blink) // instances of one moment have no order of their own
		}
	}
	t.steer(t.byID("c0").Key, provider.SteerTerminate)
	checkParents := func(want string, filter provider.Filter) {
		checkList(t, filter, want)
		for _, most := range []int64{0, 1000} {
			res, err := t.Count(t.ctx, provider.CountRequest{Filter: filter, Max: most})
			t.ok(err)
			t.checkf(res.Exact && res.Count == int64(len(strings.Fields(want))), "%+v counts %+v, want exactly %q", filter, res, want)
		}
	}
	checkParents("a0 a1 c0 c1", provider.Filter{ParentKeys: []provider.UUID{keys[2], keys[0]}})
	checkParents("b0 b1", provider.Filter{ParentKeys: []provider.UUID{unique(), keys[1], keys[1]}})
	checkParents("", provider.Filter{ParentKeys: []provider.UUID{unique()}})
	checkParents("c0", provider.Filter{ParentKeys: keys, Statuses: []provider.Status{provider.StatusTerminated}})
	checkParents("b0 b1", provider.Filter{ParentKeys: keys, ParentKey: keys[1]})
	list := listPages(t, provider.Filter{ParentKeys: keys[:2]}, 1, func() {})
	is(t, "the order of pages", idsOf(list), "b1 b0 a1 a0")
}

func readAttributes(t *trial) {
	one := provider.Attribute{Name: "n", Kind: provider.AttributeInt, Number: 1}
	flag := provider.Attribute{Name: "n", Kind: provider.AttributeBool, Number: 1}
	word := provider.Attribute{Name: "w", Kind: provider.AttributeText, Text: "x"}
	has := func(list ...provider.Attribute) func(*provider.CreateRequest) {
		return func(r *provider.CreateRequest) { r.Attributes = list }
	}
	t.create("a", has(one, word))
	t.create("b", has(flag))
	t.create("c", has(word))
	checkList(t, provider.Filter{Attributes: []provider.Attribute{one}}, "a")
	checkList(t, provider.Filter{Attributes: []provider.Attribute{flag}}, "b")
	checkList(t, provider.Filter{Attributes: []provider.Attribute{word}}, "a c")
	checkList(t, provider.Filter{Attributes: []provider.Attribute{word, one}}, "a")
	checkList(t, provider.Filter{Attributes: []provider.Attribute{word, flag}}, "")
}

func readReplaced(t *trial) {
	old := t.end(t.begin("i"))
	i := t.create("i", replace)
	list := listPages(t, provider.Filter{}, 10, func() {})
	t.checkf(len(list) == 1 && list[0].Key == i.Key, "got %s, want the current instance", idsOf(list))
	list = listPages(t, provider.Filter{Replaced: true}, 10, func() {})
	t.checkf(len(list) == 2 && (list[0].Key == old.Key || list[1].Key == old.Key), "got %s, want both, the replaced one included", idsOf(list))
}

func readCount(t *trial) {
	for n := range 5 {
		t.create(fmt.Sprint("i", n))
	}
	t.steer(t.create("x").Key, provider.SteerTerminate)
	for want, filter := range map[int64]provider.Filter{
		6: {}, 5: {IDPrefix: "i"}, 1: {Statuses: []provider.Status{provider.StatusTerminated}}, 0: {Name: "nobody"},
	} {
		res, err := t.Count(t.ctx, provider.CountRequest{Filter: filter})
		t.ok(err)
		t.checkf(res.Count == want, "filter %+v counts %d, want %d", filter, res.Count, want)
	}
}

func readStats(t *trial) {
	t.beginTasks(newTask(1), newTask(2))
	t.create("a")
	t.create("b")
	t.fetch(func(r *provider.FetchTurnsRequest) { r.Max = 1 })
	t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	checkStats(t, func(s provider.StatsResult) string {
		turns, tasks := "none", "none"
		if len(s.Turns) == 1 && s.Turns[0].Oldest > 0 {
			turns = fmt.Sprint(s.Turns[0].Name, " ", s.Turns[0].Count)
		}
		if len(s.Tasks) == 1 {
			tasks = fmt.Sprint(s.Tasks[0].Queue, " ", s.Tasks[0].Count)
		}
		return fmt.Sprintf("%d running, turns %s, tasks %s, leases %d %d",
			s.Instances[provider.StatusRunning], turns, tasks, s.TurnLeases, s.TaskLeases)
	}, "3 running, turns orc 1, tasks q 1, leases 1 1")
}

func readWaiting(t *trial) {
	t.beginTasks(newTask(1), newTask(2), newTask(3))
	t.create("a")
	t.create("b")
	t.fetch(func(r *provider.FetchTurnsRequest) { r.Max = 1 })
	t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	checkStatsOf(t, provider.StatsRequest{Waiting: true}, func(s provider.StatsResult) string {
		waits := make([]string, 0, len(s.Turns)+len(s.Tasks))
		for _, w := range s.Turns {
			waits = append(waits, fmt.Sprint(w.Name, " ", w.Count, " ", w.Oldest > 0))
		}
		for _, w := range s.Tasks {
			waits = append(waits, fmt.Sprint(w.Queue, " ", w.Name, " ", w.Count, " ", w.Oldest > 0))
		}
		return fmt.Sprint(strings.Join(waits, ", "), ", now ", s.Now > 0)
	}, "orc 1 true, q act 2 true, now true")
}

// runningNames makes instances of two names and versions, and returns them as Stats counts them.
func runningNames(t *trial) (want string) {
	for n, of := range []provider.Capability{{Name: "b", CodeVersion: "1"}, {Name: "a", CodeVersion: "2"}, {Name: "a"}, {Name: "a", CodeVersion: "2"}} {
		t.create(fmt.Sprint("i", n), func(r *provider.CreateRequest) {
			r.Name, r.CodeVersion = of.Name, of.CodeVersion
			r.EngineLevel = int64(1 + n%2)
		})
	}
	t.steer(t.byID("i1").Key, provider.SteerSuspend)
	ended := t.create("ended", func(r *provider.CreateRequest) { r.Name = "b" })
	t.steer(ended.Key, provider.SteerTerminate)
	return `a "" 1, a "2" 2, b "1" 1`
}

// running returns what Stats counts, in words.
func running(s *provider.StatsResult) string {
	words := make([]string, 0, len(s.Running))
	for i := range s.Running {
		r := &s.Running[i]
		more := ""
		if r.More {
			more = "+"
		}
		words = append(words, fmt.Sprintf("%s %q %d%s", r.Name, r.CodeVersion, r.Count, more))
	}
	return strings.Join(words, ", ")
}

func readRunning(t *trial) {
	want := runningNames(t)
	checkStats(t, func(s provider.StatsResult) string { return running(&s) }, want)
}

// readOldest makes instances whose oldest one has another engine level, is suspended or ends.
func readOldest(t *trial) {
	made := make([]provider.Instance, 0, 4)
	for n := range 4 {
		made = append(made, t.create(fmt.Sprint("i", n), func(r *provider.CreateRequest) { r.EngineLevel = int64(1 + n%2) }))
		t.pass(blink)
	}
	oldest := func(want provider.Time) {
		for _, req := range []provider.StatsRequest{{}, {Running: true}, {Running: true, Most: 1}} {
			checkStatsOf(t, req, func(s provider.StatsResult) string {
				if len(s.Running) != 1 {
					return fmt.Sprint(len(s.Running), " kinds")
				}
				return fmt.Sprint(s.Running[0].Oldest)
			}, fmt.Sprint(want))
		}
	}
	oldest(made[0].CreatedAt)
	t.steer(made[0].Key, provider.SteerTerminate)
	oldest(made[1].CreatedAt)
	t.steer(made[1].Key, provider.SteerSuspend)
	oldest(made[1].CreatedAt)
}

// readMost counts up to limits below, at and above the numbers.
func readMost(t *trial) {
	for n := range 5 {
		t.create(fmt.Sprint("i", n), func(r *provider.CreateRequest) { r.Name, r.EngineLevel = string("aab"[n/2]), int64(1+n%2) })
	}
	t.steer(t.byID("i0").Key, provider.SteerSuspend)
	const all = `a "v1" 4, b "v1" 1`
	for most, want := range map[int64]string{0: all, 1: `a "v1" 1+, b "v1" 1`, 3: `a "v1" 3+, b "v1" 1`, 4: all, 5: all} {
		checkStatsOf(t, provider.StatsRequest{Running: true, Most: most}, func(s provider.StatsResult) string { return running(&s) }, want)
		checkStatsOf(t, provider.StatsRequest{Most: most}, func(s provider.StatsResult) string { return running(&s) }, want)
	}
}

func readOnlyRunning(t *trial) {
	want := runningNames(t)
	for _, waiting := range []bool{false, true} {
		checkStatsOf(t, provider.StatsRequest{Running: true, Waiting: waiting}, func(s provider.StatsResult) string {
			return fmt.Sprint(running(&s), " now ", s.Now > 0, " turns ", !waiting || len(s.Turns) > 0)
		}, want+" now true turns true")
	}
}

func readGetUnknown(t *trial) {
	_, err := t.Get(t.ctx, provider.GetRequest{ID: "nobody"})
	t.want(err, provider.ErrNotFound)
	_, err = t.Get(t.ctx, provider.GetRequest{Key: unique(), WaitEnded: true, Wait: long})
	t.want(err, provider.ErrNotFound)
}
