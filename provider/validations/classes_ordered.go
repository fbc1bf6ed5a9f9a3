package validations

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// orderedCases checks each order with keys, names and event IDs that disagree with the order of insertion, and each boundary at
// exactly its value.
func orderedCases() []testCase {
	const messages = "Messages come in order (VisibleAt, ID), at most MaxMessages and MaxBytes per instance, but at least one. " +
		"More reports that further messages are visible."
	const listed = "List returns the instances that match the filter, a page at a time. The newest creation comes first, then keys descend."
	return []testCase{
		{name: "messages-against-their-ids", run: orderedMessages, rule: messages},
		{name: "turns-against-keys", run: orderedTurns, rule: "Instances come in order of ReadyAt."},
		{name: "tasks-against-keys", run: orderedTasks, rule: equalRanks},
		{name: "equal-ranks-against-keys", run: orderedEqualRanks, rule: equalRanks},
		{name: "released-ranks-against-keys", run: orderedReleased, rule: equalRanks},
		{name: "late-tasks-against-keys", run: orderedLate, rule: "Tasks past their time come first, ordered by that time."},
		{name: "instances-against-keys", run: orderedList, rule: listed},
		{
			name: "pruned-against-keys", run: orderedPrune,
			rule: "Prune deletes up to Max instances that ended before a given age, oldest first, and returns how many.",
		},
		{name: "letters-against-keys", run: orderedLetters, rule: "Items are taken in the order in which they are named."},
		{name: "exact-messages", run: exactMessages, rule: messages},
		{
			name: "exact-history", run: exactHistory,
			rule: "ReadHistory returns events From to To of one execution in order, as many as fit MaxBytes, but at least one if there is one.",
		},
		{name: "exact-pages", run: exactPages, rule: listed},
		{name: "exact-times", run: exactTimes, rule: "Zero fields do not restrict."},
		{name: "exact-limits", run: exactLimits, rule: places},
		{name: "exact-level", run: exactLevel, rule: "Its engine level is at most EngineLevel."},
	}
}

// orderedMessages makes messages visible in the reverse order of their IDs, timers and messages of commits among them.
func orderedMessages(t *trial) {
	i := t.begin("i")
	req := next(i)
	for n, word := range []string{"e", "d", "c"} {
		req.Timers = append(req.Timers, provider.Timer{EventID: int64(n + 1), Due: provider.Time(50 - 10*n), Payload: []byte(word)})
	}
	own := text("f")
	req.Sends = []provider.OutMessage{{Key: i.Key, Message: own}}
	t.commit(req)
	req = next(t.get(i.Key))
	req.Timers = []provider.Timer{{EventID: 4, Due: 10, Payload: []byte("b")}, {EventID: 5, Due: 5, Payload: []byte("a")}}
	t.commit(req)
	want := []string{"a", "b", "c", "d", "e", "f"}
	u := t.fetchOne(named("i"))
	is(t, "the messages", u.payloads(), strings.Join(want, " "))
	t.ok(t.release(u))
	var pages []string
	for len(pages) < len(want) {
		u := t.fetchOne(named("i"), func(r *provider.FetchTurnsRequest) { r.MaxMessages = 2 })
		t.mustf(len(u.Messages) > 0, "a turn without messages, want some")
		for _, m := range u.Messages {
			pages = append(pages, string(m.Payload))
		}
		t.commit(commitOf(u))
	}
	is(t, "the messages of three turns", strings.Join(pages, " "), strings.Join(want, " "))
}

func orderedTurns(t *trial) {
	const count = 4
	want := make([]string, 0, count)
	for n := range count {
		id := fmt.Sprint(9 - n)
		t.create(id, against(n))
		want = append(want, id)
		t.pass(blink)
	}
	var got []string
	for _, most := range []int{1, 2, 1} {
		for _, u := range t.fetch(func(r *provider.FetchTurnsRequest) { r.Max = most }) {
			got = append(got, u.Instance.ID)
		}
	}
	is(t, "the instances", strings.Join(got, " "), strings.Join(want, " "))
}

// orderedTasks stores tasks whose keys, names and event IDs disagree with the order in which they came.
func orderedTasks(t *trial) {
	const count = 4
	want, got := make([]string, 0, count), make([]string, 0, count)
	for n := range count {
		id := fmt.Sprint(9 - n)
		i := t.create(id, against(n), func(r *provider.CreateRequest) { r.Name = "setup-" + id })
		req := commitOf(t.fetchOne(named(id)))
		task := newTask(int64(20 - n))
		task.Name = fmt.Sprint("act", 9-n)
		req.Tasks = []provider.NewTask{task}
		t.commit(req)
		want = append(want, i.ID)
		t.pass(blink)
	}
	for _, most := range []int{1, 2, 1} {
		for _, task := range t.fetchTasks(func(r *provider.FetchTasksRequest) {
			r.Max, r.Queues[0].Names = most, []string{"act6", "act8", "act7", "act9"}
		}) {
			got = append(got, task.InstanceID)
		}
	}
	is(t, "the tasks", strings.Join(got, " "), strings.Join(want, " "))
}

func orderedLate(t *trial) {
	const count = 3
	want, got := make([]string, 0, count), make([]string, 0, count)
	for n := range count {
		id := fmt.Sprint(9 - n)
		t.create(id, against(n), func(r *provider.CreateRequest) { r.Name = "setup-" + id })
		req := commitOf(t.fetchOne(named(id)))
		task := newTask(int64(20 - n))
		task.Deadline, task.Priority = short, provider.PriorityHighest+2*n
		req.Tasks = []provider.NewTask{task}
		t.commit(req)
		want = append(want, id)
		t.pass(blink)
	}
	t.pass(2 * short)
	for range count {
		for _, task := range t.fetchTasks(expired, func(r *provider.FetchTasksRequest) { r.Max = 1 }) {
			got = append(got, task.InstanceID)
		}
	}
	is(t, "the tasks past their time", strings.Join(got, " "), strings.Join(want, " "))
}

func orderedList(t *trial) {
	const count = 4
	want, got := make([]string, 0, count), make([]string, 0, count)
	for n := range count {
		id := fmt.Sprint(n)
		t.create(id, against(3-n*n%4))
		want = append(want, id)
		t.pass(blink)
	}
	slices.Reverse(want)
	cursor := ""
	for range want {
		res, err := t.List(t.ctx, provider.ListRequest{Cursor: cursor, Max: 1})
		t.ok(err)
		t.mustf(len(res.Instances) == 1, "a page of %d instances, want 1", len(res.Instances))
		got, cursor = append(got, res.Instances[0].ID), res.Cursor
	}
	is(t, "the instances", strings.Join(got, " "), strings.Join(want, " "))
}

func orderedPrune(t *trial) {
	const count = 3
	made := make([]provider.Instance, 0, count)
	for n := range count {
		made = append(made, t.create(fmt.Sprint(n), against(n)))
	}
	for _, n := range []int{1, 2, 0} {
		t.steer(made[n].Key, provider.SteerTerminate)
		t.pass(short) // the next one ends later even by a clock of milliseconds
	}
	for _, n := range []int{1, 2, 0} {
		is(t, "instances pruned", prune(t, provider.PruneRequest{Max: 1}), 1)
		t.gone(made[n].Key)
	}
}

func orderedLetters(t *trial) {
	const count = 3
	want, got := make([]string, 0, count), make([]string, 0, count)
	for n := range count {
		i := t.create(fmt.Sprint(9-n), against(n))
		t.steer(i.Key, provider.SteerTerminate)
		want = append(want, i.ID)
	}
	var last int64
	for _, l := range t.letters() {
		t.checkf(l.ID > last, "letter %d comes after %d, want rising IDs", l.ID, last)
		last = l.ID
		got = append(got, l.InstanceID)
	}
	is(t, "the letters", strings.Join(got, " "), strings.Join(want, " "))
}

// exactMessages fetches with a maximum of exactly what is there, and of one less.
func exactMessages(t *trial) {
	i := t.begin("i")
	for range 3 {
		t.send(i.Key, text("1234"))
	}
	for what, c := range map[string]struct {
		change func(*provider.FetchTurnsRequest)
		count  int
		more   bool
	}{
		"exactly all messages":  {func(r *provider.FetchTurnsRequest) { r.MaxMessages = 3 }, 3, false},
		"one message less":      {func(r *provider.FetchTurnsRequest) { r.MaxMessages = 2 }, 2, true},
		"exactly all bytes":     {func(r *provider.FetchTurnsRequest) { r.MaxBytes = 12 }, 3, false},
		"one byte less":         {func(r *provider.FetchTurnsRequest) { r.MaxBytes = 11 }, 2, true},
		"less than one message": {func(r *provider.FetchTurnsRequest) { r.MaxBytes = 1 }, 1, true},
		"exactly one message":   {func(r *provider.FetchTurnsRequest) { r.MaxBytes = 4 }, 1, true},
	} {
		u := t.fetchOne(named("i"), c.change)
		t.checkf(len(u.Messages) == c.count && u.More == c.more, "%s: %d messages, more %v, want %d and %v", what, len(u.Messages), u.More, c.count, c.more)
		t.ok(t.release(u))
	}
}

func exactHistory(t *trial) {
	i := t.begin("i")
	t.commit(next(i, "1234567", "1234567"))
	for what, c := range map[string]struct {
		from, to int64
		bytes    int
		want     string
		more     bool
	}{
		"all":                 {1, 0, 0, "123", false},
		"exactly to the end":  {1, 3, 0, "123", false},
		"beyond the end":      {1, 4, 0, "123", false},
		"the last":            {3, 3, 0, "3", false},
		"after the last":      {4, 0, 0, "", false},
		"exactly all bytes":   {1, 0, 21, "123", false},
		"one byte less":       {1, 0, 20, "12", true},
		"exactly two":         {1, 2, 14, "12", false},
		"exactly one":         {2, 0, 7, "2", true},
		"less than one event": {2, 2, 1, "2", false},
	} {
		ids, res := readHistory(t, provider.ReadHistoryRequest{Key: i.Key, From: c.from, To: c.to, MaxBytes: c.bytes})
		t.checkf(ids == c.want && res.More == c.more, "%s: events %q, more %v, want %q and %v", what, ids, res.More, c.want, c.more)
	}
}

func exactPages(t *trial) {
	for n := range 3 {
		t.create(fmt.Sprint(n))
		t.record(put(fmt.Sprint(n), "v", 0))
	}
	for size, full := range map[int]bool{2: false, 3: true, 4: true} {
		res, err := t.List(t.ctx, provider.ListRequest{Max: size})
		t.ok(err)
		t.checkf(len(res.Instances) == min(size, 3), "%d instances of a page of %d, want %d", len(res.Instances), size, min(size, 3))
		rest := provider.ListResult{}
		if res.Cursor != "" {
			rest, err = t.List(t.ctx, provider.ListRequest{Max: size, Cursor: res.Cursor})
			t.ok(err)
		}
		t.checkf((len(rest.Instances) == 0) == full, "%d instances after a page of %d, complete %v", len(rest.Instances), size, full)
		scan := t.record(provider.RecordRequest{Action: provider.RecordScan, Namespace: "n", Max: size})
		t.checkf(len(scan) == min(size, 3), "%d records of a page of %d, want %d", len(scan), size, min(size, 3))
	}
}

// exactTimes filters by exactly the moment of a creation.
func exactTimes(t *trial) {
	i := t.create("i")
	at := i.CreatedAt
	checkList(t, provider.Filter{CreatedAfter: at}, "i")
	checkList(t, provider.Filter{CreatedAfter: at + 1}, "")
	checkList(t, provider.Filter{CreatedBefore: at}, "")
	checkList(t, provider.Filter{CreatedBefore: at + 1}, "i")
	checkList(t, provider.Filter{CreatedAfter: at, CreatedBefore: at + 1}, "i")
}

func exactLimits(t *trial) {
	t.beginTasks(tasksOf(4)...)
	limit := func(n int) func(*provider.FetchTasksRequest) {
		return func(r *provider.FetchTasksRequest) { r.Queues[0].MaxLeased = n }
	}
	first := t.fetchTasks(limit(2))
	is(t, "tasks under a limit of 2", len(first), 2)
	is(t, "tasks at the limit", len(t.fetchTasks(limit(2))), 0)
	is(t, "tasks below the limit", len(t.fetchTasks(limit(1))), 0)
	is(t, "tasks with one place", len(t.fetchTasks(limit(3))), 1)
	completeAll(t, first)
	is(t, "tasks after two places became free", len(t.fetchTasks(limit(3))), 1)
}

func exactLevel(t *trial) {
	t.create("i", func(r *provider.CreateRequest) { r.EngineLevel = 2 })
	level := func(n int64) func(*provider.FetchTurnsRequest) {
		return func(r *provider.FetchTurnsRequest) { r.EngineLevel = n }
	}
	t.noTurn("the node has a lower level", level(1))
	is(t, "turns at exactly the level", len(t.fetch(level(2))), 1)
}
