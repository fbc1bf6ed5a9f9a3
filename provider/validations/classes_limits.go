package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// limitedCases checks that a limit counts what a call returns, and not what it looks at: what stands behind others that the call may
// not take is found, and items of several kinds share one limit.
func limitedCases() []testCase {
	const turns, list = "Other instances are left alone and their deliveries are not counted.",
		"List returns the instances that match the filter, a page at a time. The newest creation comes first, then keys descend."
	return append([]testCase{
		{name: "turns-behind-others", run: limitedTurns, rule: turns},
		{name: "tasks-behind-others", run: limitedTasks, rule: "FetchTasks leases up to Max activity tasks of the named queues and activity names."},
		{name: "questions-behind-others", run: limitedAsks, rule: "FetchAsks takes up to Max open questions to instances of the given capabilities, in any status."},
		{name: "instances-behind-others", run: limitedLists, rule: list},
		{
			name: "ends-behind-others", run: limitedPrunes,
			rule: "Prune deletes up to Max instances that ended before a given age, oldest first, and returns how many.",
		},
		{name: "letters-behind-others", run: limitedLetters, rule: "DeadLettersRequest.Key: List: only those of this instance; zero: all"},
		{name: "records-behind-others", run: limitedRecords, rule: "RecordRequest.Max: Scan: 1 to MaxPage; 0: MaxPage"},
		{name: "turns-of-all-names", run: sharedTurns, rule: "FetchTurns leases up to Max instances that have visible messages, with those messages."},
		{name: "tasks-of-all-kinds", run: sharedTasks, rule: "FetchTasks leases up to Max activity tasks of the named queues and activity names."},
		{name: "questions-of-all-names", run: sharedAsks, rule: "FetchAsks takes up to Max open questions to instances of the given capabilities, in any status."},
	}, needs(lacking[provider.Trimmer], []testCase{{
		name: "executions-behind-others", run: limitedTrims,
		rule: "Trim removes up to Max executions that ended before a given age, with their histories, and returns how many.",
	}})...)
}

// limitedTurns has one instance for each reason for which a fetch may not take it. All were ready before the one that it may take.
func limitedTurns(t *trial) {
	held := func(hold func(u turn)) {
		t.create(fresh())
		hold(t.fetchOne())
	}
	later := func(r *provider.TurnRelease) { r.Delay = long }
	held(func(turn) {}) // leased
	held(func(u turn) { t.block(u, true) })
	held(func(u turn) { t.ok(t.release(u, later)) })
	t.steer(t.create("suspended").Key, provider.SteerSuspend)
	t.create("another name", func(r *provider.CreateRequest) { r.Name = "other" })
	t.create("another version", func(r *provider.CreateRequest) { r.CodeVersion = "v2" })
	t.create("a higher level", func(r *provider.CreateRequest) { r.EngineLevel = 5 })
	if provider.FeaturesOf(t.store).Sticky {
		sticky := t.create("sticky")
		req := commitOf(t.fetchOne(), "started")
		req.Owner, req.Sticky = "node-b", long
		t.commit(req)
		t.send(sticky.Key, text("m"))
	}
	t.pass(blink)
	t.create("free")
	list := t.fetch(func(r *provider.FetchTurnsRequest) { r.Max = 1 })
	t.mustf(len(list) == 1, "got %d turns with Max 1, want the one that stands behind others which the fetch may not take", len(list))
	is(t, "the instance", list[0].Instance.ID, "free")
}

// limitedTasks has one task for each reason for which a fetch may not take it. All were queued before the one that it may take.
func limitedTasks(t *trial) {
	t.beginTasks(tasksOf(2)...)
	t.fetchTask(one)
	t.ok(t.report(t.fetchTask(one), provider.TaskPark).Err)
	late, named, elsewhere, ofSession, full := newTask(3), newTask(4), newTask(5), newTask(6), newTask(7)
	late.Deadline, named.Name, elsewhere.Queue, ofSession.Session, full.Queue = short, "other", "elsewhere", "s", "full"
	more := full
	more.EventID = 8
	t.begin("j", func(r *provider.CommitTurnRequest) {
		r.Tasks = []provider.NewTask{late, named, elsewhere, ofSession, full, more}
	})
	t.pass(2 * short) // until the deadline
	limit := func(r *provider.FetchTasksRequest) {
		r.Queues = append(r.Queues, provider.QueueFilter{Queue: "full", Names: []string{activity}, MaxLeased: 1})
	}
	is(t, "the only place of the queue", t.fetchTask(func(r *provider.FetchTasksRequest) { r.Queues[0].Queue = "full" }, one).EventID, 7)
	is(t, "the task of a session", t.fetchTask(holding("node-b", 1), one).EventID, 6)
	again := ofSession
	again.EventID = 9
	t.begin("k", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{again} })
	l := t.begin("l", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(10)} })
	t.steer(l.Key, provider.SteerSuspend)
	t.pass(blink)
	t.begin("m", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(11)} })
	list := t.fetchTasks(one, limit, holding(node, 1))
	t.mustf(len(list) == 1, "got %d tasks with Max 1, want the one that stands behind others which the fetch may not take", len(list))
	is(t, "the task", list[0].EventID, 11)
}

// limitedAsks asks three questions that a fetch may not take before the one that it may take.
func limitedAsks(t *trial) {
	i := t.create("i")
	parkedAsk(t, i.Key)
	fetchAsk(t) // and does not answer it
	parkedAsk(t, t.create("another name", func(r *provider.CreateRequest) { r.Name = "other" }).Key)
	parkedAsk(t, t.create("a higher level", func(r *provider.CreateRequest) { r.EngineLevel = 5 }).Key)
	asked := parkedAsk(t, i.Key)
	open := fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Max, r.Wait = 1, patience })
	is(t, "the instance of the question", open.Instance.ID, "i")
	t.ok(answerAsk(t, open.AskID))
	is(t, "the answer", asked(), answer{payload: "answer"})
}

// limitedLists has one instance that a filter chooses, and newer ones that it does not.
func limitedLists(t *trial) {
	parent := t.begin("parent")
	t.create("chosen", func(r *provider.CreateRequest) {
		r.Name, r.CodeVersion, r.Attributes = "other", "v9", []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 7}}
		r.Parent = provider.Parent{Key: parent.Key, ID: parent.ID, Execution: 1, EventID: 1}
	})
	u := t.fetchOne(func(r *provider.FetchTurnsRequest) {
		r.Capabilities[0] = provider.Capability{Name: "other", CodeVersion: "v9"}
	})
	t.block(u, true)
	t.pass(blink)
	for n := range 3 {
		t.create(fmt.Sprint("newer", n))
	}
	between := provider.AttributeMatch{Name: "a", Kind: provider.AttributeInt, From: &provider.AttributeValue{Number: 7}}
	for what, filter := range map[string]provider.Filter{
		"IDPrefix": {IDPrefix: "ch"}, "Name": {Name: "other"}, "CodeVersions": {CodeVersions: []string{"v9"}}, "Blocked": {Blocked: true},
		"ParentKey": {ParentKey: parent.Key}, "ParentKeys": {ParentKeys: []provider.UUID{parent.Key}},
		"Attributes":    {Attributes: []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 7}}},
		"Matches":       {Matches: []provider.AttributeMatch{between}},
		"CreatedBefore": {CreatedBefore: u.Instance.CreatedAt + 1, IDPrefix: "c"},
	} {
		res, err := t.List(t.ctx, provider.ListRequest{Filter: filter, Max: 1})
		t.ok(err)
		t.checkf(idsOf(res.Instances) == "chosen", "%s: a page of one row has %q, want \"chosen\", which stands behind three others", what, idsOf(res.Instances))
		count, err := t.Count(t.ctx, provider.CountRequest{Filter: filter, Max: 1})
		t.ok(err)
		is(t, what+": the count up to one", count.Count, 1)
	}
}

// limitedPrunes has one ended instance for each reason for which it stays. All ended before the one that goes.
func limitedPrunes(t *trial) {
	end := func(i provider.Instance) provider.Instance {
		defer t.pass(short) // the next one ends later even by a clock of milliseconds
		return t.end(t.get(i.Key))
	}
	tree := beginFamily(t, func(*provider.Start) {})
	end(tree) // above a running child
	spared := end(t.begin("spared"))
	end(t.create("another name", func(r *provider.CreateRequest) { r.Name = "other" }))
	end(t.create("excepted", func(r *provider.CreateRequest) { r.Name = "excepted" }))
	terminated := t.begin("terminated")
	t.steer(terminated.Key, provider.SteerTerminate)
	running := t.begin("running parent")
	end(t.create("below", under(running), func(r *provider.CreateRequest) { r.Name = "setup-free" }))
	free := end(t.begin("free"))
	req := provider.PruneRequest{
		Max: 1, Names: []string{"setup-free", "setup-spared", "setup-parent", "setup-terminated", "excepted"}, ExceptNames: []string{"excepted"},
		Statuses: []provider.Status{provider.StatusCompleted}, Spare: []provider.UUID{spared.Key},
	}
	is(t, "instances pruned with Max 1, behind others that stay", prune(t, req), 1)
	t.gone(free.Key)
}

// limitedLetters lists a dead letter that stands behind those of another instance.
func limitedLetters(t *trial) {
	leaveDeadLetters(t, 3)
	other := t.begin("other")
	t.send(other.Key, text("other"))
	t.steer(other.Key, provider.SteerTerminate)
	res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Key: other.Key, Max: 1})
	t.ok(err)
	t.checkf(len(res.Letters) == 1 && string(res.Letters[0].Payload) == "other",
		"a page of one letter has %d, want the one that stands behind three others", len(res.Letters))
}

// limitedRecords scans for a record that stands behind those with another prefix or namespace.
func limitedRecords(t *trial) {
	for _, key := range []string{"a1", "a2", "a3", "b"} {
		t.record(put(key, key, 0))
	}
	elsewhere := put("b0", "elsewhere", 0)
	elsewhere.Namespace = "m"
	t.record(elsewhere)
	list := t.record(provider.RecordRequest{Action: provider.RecordScan, Namespace: "n", Prefix: "b", Max: 1})
	t.checkf(len(list) == 1 && list[0].Key == "b", "a page of one record has %+v, want b, which stands behind three others", list)
}

// limitedTrims has executions of one instance that may go, and instances before and after it that keep theirs.
func limitedTrims(t *trial) {
	for n := range 5 {
		t.renewed(fmt.Sprint("keeps", n), 1)
	}
	t.renewed("i", 2)
	res, err := t.trimOnce(provider.TrimRequest{Keep: 1, Max: 1})
	t.ok(err)
	is(t, "executions trimmed with Max 1, behind others that stay", res.Executions, 1)
}

// sharedTurns fetches instances of two names and versions under one limit.
func sharedTurns(t *trial) {
	kinds := []provider.Capability{{Name: orchestration, CodeVersion: codeVersion}, {Name: "other", CodeVersion: codeVersion}, {Name: "other", CodeVersion: "v2"}}
	for n := range 6 {
		t.create(fmt.Sprint("i", n), func(r *provider.CreateRequest) { r.Name, r.CodeVersion = kinds[n%3].Name, kinds[n%3].CodeVersion })
	}
	for most := 1; most <= 5; most++ {
		got := t.fetch(func(r *provider.FetchTurnsRequest) { r.Capabilities, r.Max = kinds, most })
		is(t, fmt.Sprint("turns of three kinds with Max ", most), len(got), most)
		for _, u := range got {
			t.ok(t.release(u))
		}
	}
}

// sharedTasks fetches tasks past their time and others, of two queues, under one limit.
func sharedTasks(t *trial) {
	tasks := tasksOf(6)
	for n := range tasks {
		if n < 2 {
			tasks[n].Deadline = short
		}
		if n%2 == 0 {
			tasks[n].Queue = "elsewhere"
		}
	}
	t.beginTasks(tasks...)
	t.pass(2 * short)
	for most := 1; most <= 5; most++ {
		req := with(fetchTasksRequest(), func(r *provider.FetchTasksRequest) {
			r.Queues = append(r.Queues, provider.QueueFilter{Queue: "elsewhere", Names: []string{activity}})
			r.Expired, r.Max = true, most
		})
		res, err := t.FetchTasks(t.ctx, req)
		t.ok(err)
		late := 0
		for _, task := range res.Tasks {
			if task.PastDeadline {
				late++
			}
		}
		t.checkf(len(res.Tasks) == most && late == min(most, 2), "got %d tasks, %d of them past their time, with Max %d, want %d and %d",
			len(res.Tasks), late, most, most, min(most, 2))
		releaseToken(t, req.Token)
	}
}

// sharedAsks fetches questions to instances of two names under one limit.
func sharedAsks(t *trial) {
	i, other := t.create("i"), t.create("other", func(r *provider.CreateRequest) { r.Name = "other" })
	for _, key := range []provider.UUID{i.Key, other.Key, i.Key, other.Key} {
		parkedAsk(t, key)
	}
	req := with(fetchAsksRequest(), func(r *provider.FetchAsksRequest) {
		r.Capabilities = append(r.Capabilities, provider.Capability{Name: "other", CodeVersion: codeVersion})
		r.Wait, r.Max = patience, 1
	})
	for n := range 4 { // they may be stored late
		res, err := t.FetchAsks(t.ctx, req)
		t.ok(err)
		is(t, fmt.Sprint("questions of fetch ", n, " with Max 1"), len(res.Asks), 1)
	}
}
