package validations

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// inspectCases checks an optional feature. The suite skips the cases of a provider without it.
func inspectCases() []testCase {
	const (
		shows = "Inspect returns the stored rows of one kind as they are. That includes rows that no method " +
			"of Provider would return: rows whose key is gone, and rows of ended executions."
		order = "Rows come in order of key, then in the order of their InspectKind, a page at a time. Cursor leads to the next page"
		lease = "A lease has its owner, whether it has expired by the storage's clock, and whether the storage knows that the owner is dead."
	)
	return needs(lacking[provider.Inspector], []testCase{
		{name: "instances", run: inspectInstances, rule: shows},
		{name: "replaced", run: inspectReplaced, rule: "Instances include replaced ones and those marked for deletion."},
		{name: "executions", run: inspectExecutions, rule: "Executions are those before the current one, by number."},
		{name: "history", run: inspectHistory, rule: shows},
		{name: "messages", run: inspectMessages, rule: shows},
		{name: "tasks", run: inspectTasks, rule: shows},
		{name: "keys", run: inspectKeys, rule: "For the last five kinds only the keys are returned, each once."},
		{name: "turn-leases", run: inspectTurnLeases, rule: lease},
		{name: "expired-turn-lease", run: inspectExpiredLease, rule: "An expired lease is included until the storage or the next owner ends it."},
		{name: "task-leases", run: inspectTaskLeases, rule: lease},
		{name: "outcomes", run: inspectOutcomes, rule: "An instance with a result or a custom status has an outcome."},
		{name: "order", run: inspectOrder, rule: "History and tasks come by execution and event ID, messages by VisibleAt and ID."},
		{name: "pages", run: inspectPages, rule: order},
		{name: "bytes", run: inspectBytes, rule: "A page has at most Max rows, and a page of instances ends once their payloads reach [MaxFetchBytes]."},
		{name: "key", run: inspectKey, rule: "With Key, only rows of that key are returned."},
		{name: "payloads", run: inspectPayloads, rule: "Payloads of events, messages and tasks are left out."},
		{name: "changes-nothing", run: inspectChangesNothing, rule: "Inspect changes nothing."},
		{name: "default-page", run: inspectDefault, rule: "InspectRequest.Max: 1 to MaxPage; 0: MaxPage"},
		{name: "one-state", run: inspectOneState, rule: "and each page is one state of the store."},
		{name: "bare-instances", run: inspectBare, rule: "InspectResult.Instances: without Attributes"},
	})
}

func inspectInstances(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.CustomStatus = []byte("half way") })
	t.send(i.Key, text("m"))
	i = t.get(i.Key)
	list := inspect(t, provider.InspectInstances).Instances
	t.mustf(len(list) == 1, "%d instances, want 1", len(list))
	t.checkf(fmt.Sprintf("%+v", list[0]) == fmt.Sprintf("%+v", i), "instance\n%+v, want\n%+v", list[0], i)
}

func inspectReplaced(t *trial) {
	old := t.end(t.begin("i"))
	now := t.create("i", func(r *provider.CreateRequest) { r.Policy = provider.IDReplaceEnded })
	list := inspect(t, provider.InspectInstances).Instances
	has := func(key provider.UUID) bool {
		return slices.ContainsFunc(list, func(i provider.Instance) bool { return i.Key == key && i.ID == "i" })
	}
	t.checkf(len(list) == 2 && has(old.Key) && has(now.Key), "got instances %+v, want the old one and the current one", list)
}

// beginSecond makes an instance in its second execution: two events, then one.
func beginSecond(t *trial, id string) provider.Instance { return t.continueAsNew(t.begin(id)) }

func inspectExecutions(t *trial) {
	i := beginSecond(t, "i")
	list := inspect(t, provider.InspectExecutions).Executions
	want := provider.ExecutionRow{Key: i.Key, Execution: 1, Status: provider.StatusContinuedAsNew, Length: 2}
	t.checkf(len(list) == 1 && list[0] == want, "got executions %+v, want %+v", list, want)
}

func inspectHistory(t *trial) {
	i := beginSecond(t, "i")
	events := map[int64]int64{}
	for _, h := range inspect(t, provider.InspectHistory).History {
		t.checkf(h.Key == i.Key && h.First == events[h.Execution]+1, "got %+v after event %d of the execution", h, events[h.Execution])
		events[h.Execution] += h.Count
	}
	t.checkf(len(events) == 2 && events[1] == 2 && events[2] == 1, "%v events by execution, want 2 of the first and 1 of the second", events)
}

func inspectMessages(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Timers = []provider.Timer{{EventID: 4, Kind: 5, Due: provider.Time(1) << 60}}
	})
	sent := t.send(i.Key, provider.NewMessage{Kind: 9, Execution: 1, EventID: 2})
	list := inspect(t, provider.InspectMessages).Messages
	t.mustf(len(list) == 2, "%d messages, want 2", len(list))
	m, timer := list[0], list[1]
	t.checkf(m.Key == i.Key && m.ID == sent.MessageID && m.Kind == 9 && m.Execution == 1 && m.EventID == 2 && !m.Timer &&
		m.VisibleAt == t.get(i.Key).ReadyAt, "message %+v", m)
	t.checkf(timer.Timer && timer.Kind == 5 && timer.EventID == 4 && timer.Execution == 1 && timer.VisibleAt == 1<<60,
		"timer %+v, want event 4 of execution 1 with its kind and due time", timer)
}

func inspectTasks(t *trial) {
	i := t.beginTasks(newTask(2), newTask(3))
	list := inspect(t, provider.InspectTasks).Tasks
	t.mustf(len(list) == 2, "%d tasks, want 2", len(list))
	for n, task := range list {
		t.checkf(task.TaskRef == ref(i, int64(n)+2) && task.State == provider.TaskQueued && !task.CancelRequested,
			"task %+v, want it queued, in order of event IDs", task)
	}
	t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	req := next(i)
	req.CancelTasks = []provider.CancelTask{{EventID: 2}, {EventID: 3}}
	t.commit(req)
	list = inspect(t, provider.InspectTasks).Tasks
	t.checkf(len(list) == 1 && list[0].EventID == 2 && list[0].CancelRequested, "tasks %+v, want one with CancelRequested", list)
}

func inspectKeys(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Values = []provider.KeyValue{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}}
		r.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt}, {Name: "b", Kind: provider.AttributeInt}}
	})
	t.begin("bare")
	for range 2 {
		parkedAsk(t, i.Key)
	}
	for range 2 {
		t.send(i.Key, text("late"))
	}
	i = t.end(t.get(i.Key))
	for kind := provider.InspectAsks; kind <= provider.InspectDeadLetters; kind++ {
		keys := inspect(t, kind).Keys
		t.checkf(len(keys) == 1 && keys[0] == i.Key, "kind %d: keys %v, want %v", kind, keys, i.Key)
	}
}

func inspectTurnLeases(t *trial) {
	t.begin("idle")
	i := t.create("i")
	u := t.fetchOne(func(r *provider.FetchTurnsRequest) { r.Owner = "holder" })
	list := inspect(t, provider.InspectTurnLeases).TurnLeases
	t.mustf(len(list) == 1, "%d leases, want 1", len(list))
	l := list[0]
	t.checkf(l.Key == i.Key && l.Lease.Owner == "holder" && !l.Lease.Over && !l.Lease.OwnerGone && l.Lease.Until > u.Instance.ReadyAt,
		"lease %+v", l)
	t.commit(commitOf(u))
	is(t, "turn leases after the commit", len(inspect(t, provider.InspectTurnLeases).TurnLeases), 0)
}

func inspectExpiredLease(t *trial) {
	t.create("i")
	t.fetchOne(briefly)
	t.pass(2 * short)
	for _, l := range inspect(t, provider.InspectTurnLeases).TurnLeases {
		t.checkf(l.Lease.Over, "lease %+v, want Over or no row", l)
	}
}

func inspectTaskLeases(t *trial) {
	t.beginTasks(newTask(2), newTask(3))
	t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Owner, r.Max = "holder", 1 })
	t.fetchTask(brieflyTask)
	t.pass(2 * short)
	list := inspect(t, provider.InspectTasks).Tasks
	t.mustf(len(list) == 2, "%d tasks, want 2", len(list))
	l := list[0].Lease
	t.checkf(list[0].State == provider.TaskLeased && l.Owner == "holder" && !l.Over && !l.OwnerGone && l.Until > 0,
		"task %+v, want an unexpired lease of holder", list[0])
	t.checkf(list[1].State == provider.TaskQueued || list[1].Lease.Over, "task %+v, want it queued again or its lease Over", list[1])
}

// order returns the sort keys of a page's rows.
func order(res provider.InspectResult) (places []string) {
	place := func(key provider.UUID, ids ...int64) { places = append(places, fmt.Sprintf("%s %019d", key, ids)) }
	for _, i := range res.Instances {
		place(i.Key)
	}
	for _, x := range res.Executions {
		place(x.Key, x.Execution)
	}
	for _, h := range res.History {
		place(h.Key, h.Execution, h.First)
	}
	for _, m := range res.Messages {
		place(m.Key, int64(m.VisibleAt), m.ID)
	}
	for _, task := range res.Tasks {
		place(task.Key, task.Execution, task.EventID)
	}
	for _, l := range res.TurnLeases {
		place(l.Key)
	}
	for _, key := range res.Keys {
		place(key)
	}
	return places
}

// beginMany makes several rows of most kinds.
func beginMany(t *trial) {
	for n := range 3 {
		i := beginSecond(t, fmt.Sprint("i", n))
		req := next(i, "more")
		req.Tasks = []provider.NewTask{newTask(7), newTask(5)}
		req.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}}
		req.CustomStatus = []byte("s")
		t.commit(req)
		for range 3 {
			t.send(i.Key, text("m"))
		}
	}
	t.fetch(func(r *provider.FetchTurnsRequest) {
		for n := range 3 {
			r.Capabilities = append(r.Capabilities, provider.Capability{Name: fmt.Sprint("setup-i", n), CodeVersion: codeVersion})
		}
	})
}

func forEveryKind(t *trial, check func(kind provider.InspectKind, all []string)) {
	for kind := provider.InspectInstances; kind <= provider.InspectDeadLetters; kind++ {
		check(kind, order(inspect(t, kind)))
	}
}

func inspectOrder(t *trial) {
	beginMany(t)
	forEveryKind(t, func(kind provider.InspectKind, all []string) {
		t.checkf(slices.IsSorted(all), "kind %d: the rows are not in order: %v", kind, all)
		none := kind == provider.InspectAsks || kind == provider.InspectAttributes || kind == provider.InspectDeadLetters
		t.checkf(none || len(all) >= 3, "kind %d: %d rows, want at least 3: each has history, messages, tasks, a lease, values and a custom status (an outcome)",
			kind, len(all))
	})
}

// inspectOutcomes has an instance with a custom status, one with a result, and one with neither.
func inspectOutcomes(t *trial) {
	custom := t.begin("custom", func(r *provider.CommitTurnRequest) { r.CustomStatus = []byte("status") })
	ended, plain := t.end(t.begin("ended")), t.begin("plain")
	keys := inspect(t, provider.InspectOutcomes).Keys
	t.checkf(slices.Contains(keys, custom.Key) && slices.Contains(keys, ended.Key) && !slices.Contains(keys, plain.Key),
		"the keys with outcomes are %v, want %s with a custom status and %s with a result, and not %s", keys, custom.Key, ended.Key, plain.Key)
}

func inspectPages(t *trial) {
	beginMany(t)
	forEveryKind(t, func(kind provider.InspectKind, all []string) {
		var paged []string
		for cursor, calls := "", 0; calls <= len(all); calls++ {
			res := inspect(t, kind, func(r *provider.InspectRequest) { r.Cursor, r.Max = cursor, 2 })
			places := order(res)
			t.checkf(len(places) <= 2, "kind %d: a page of %d rows, want at most 2", kind, len(places))
			paged = append(paged, places...)
			if cursor = res.Cursor; cursor == "" {
				break
			}
		}
		t.checkf(slices.Equal(paged, all), "kind %d: pages have %v, want %v", kind, paged, all)
	})
}

func inspectBytes(t *trial) {
	large := make([]byte, provider.MaxPayload)
	for n := range 4 {
		t.begin(fmt.Sprint("i", n), func(r *provider.CommitTurnRequest) { r.CustomStatus = large })
	}
	first := inspect(t, provider.InspectInstances)
	rest := inspect(t, provider.InspectInstances, func(r *provider.InspectRequest) { r.Cursor = first.Cursor })
	t.checkf(len(first.Instances) == 2 && first.Cursor != "", "%d instances in the first page, want 2 and a cursor", len(first.Instances))
	t.checkf(len(rest.Instances) == 2 && rest.Cursor == "", "%d instances in the second page, want 2 and no cursor", len(rest.Instances))
}

func inspectKey(t *trial) {
	beginMany(t)
	one := inspect(t, provider.InspectInstances).Instances[1].Key
	forEveryKind(t, func(kind provider.InspectKind, all []string) {
		got := order(inspect(t, kind, of(one)))
		want := slices.DeleteFunc(all, func(place string) bool { return place[:36] != one.String() })
		t.checkf(slices.Equal(got, want), "kind %d: rows of a key %v, want %v", kind, got, want)
		second := inspect(t, kind, of(one), func(r *provider.InspectRequest) { r.Max = 1 })
		t.checkf(len(order(second)) == min(1, len(want)) && (second.Cursor != "") == (len(want) > 1),
			"kind %d: got page %+v, want one row, and a cursor if more follow", kind, second)
	})
	is(t, "rows of an unknown key", len(order(inspect(t, provider.InspectInstances, of(unique())))), 0)
}

func inspectPayloads(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("secret"))
	list := inspect(t, provider.InspectMessages).Messages
	t.checkf(len(list) == 1 && list[0].Payload == nil, "messages %+v, want one without its payload", list)
}

func inspectChangesNothing(t *trial) {
	i := t.create("i")
	t.fetchOne(briefly)
	t.unchanged(i.Key, func() {
		forEveryKind(t, func(provider.InspectKind, []string) {})
	})
	u := t.fetchOne() // the instance of the expired lease is fetchable
	t.checkf(u.Instance.Key == i.Key && u.Instance.Deliveries == 2, "got %+v, want the instance on its second delivery", u.Instance)
}
