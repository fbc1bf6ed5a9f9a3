package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// firstCases checks starts that carry their first turn.
func firstCases() []testCase {
	const (
		stored = "If the call inserts the instance, it also stores that turn, all or nothing, as CommitTurn " +
			"would after a fetch of the start message. The start message then never enters the inbox."
		begun = "Begun reports that the stored Version is First.Commit."
		stays = "An instance that the call does not insert stays as it is."
	)
	promised := []testCase{
		{name: "first-turn", run: firstLikeCommit, rule: stored},
		{name: "first-turn-leaves-no-message", run: firstInbox, rule: stored},
		{name: "first-turn-hands-off", run: firstHandOff, rule: stored},
		{name: "first-turn-to-itself", run: firstToItself, rule: stored},
		{name: "first-turn-cancels", run: firstCancels, rule: stored},
		{name: "first-turn-sticks", run: firstSticks, lacks: lackingSticky, rule: stored},
		{name: "first-turn-wakes", run: firstWakes, rule: stored},
		{name: "first-turn-replaces", run: firstReplaces, rule: stored},
		{name: "first-turn-refused", run: firstRefused, rule: stored},
		{name: "first-turn-too-large", run: firstTooLarge, rule: stored},
		{name: "first-turn-at-once", run: firstAtOnce, rule: stored},
		{name: "first-turn-race", run: firstRace, rule: stored},
		{name: "first-turn-race-of-one-request", run: firstRepeatRace, rule: begun},
		{name: "first-turn-repeated", run: firstRepeated, rule: begun},
		{name: "first-turn-of-an-existing-instance", run: firstExisting, rule: stays},
	}
	return append(needs(lackingFirstTurns, promised), []testCase{
		{
			name: "first-turn-or-start-message", run: firstOrStart,
			rule: "Without [Features].FirstTurns, a provider may ignore First: then Begun is false and the start message waits in the inbox.",
		},
		{
			name: "first-turn-fits", run: firstFits,
			rule: "First is a turn of execution 1, computed from Commit and length 0. It has no Lease, Completes " +
				"and Consumed, and leaves the instance Running. Message then has no Delay. nil: none.",
		},
	}...)
}

// likenessOf describes what two instances have in common that reached the same state in different ways.
func likenessOf(t *trial, key provider.UUID) string {
	res, err := t.Get(t.ctx, provider.GetRequest{Key: key, WithTasks: true, WithValues: true})
	t.ok(err)
	i := res.Instance
	i.ID, i.Key, i.Name, i.Version, i.CreatedAt, i.UpdatedAt = "", provider.UUID{}, "", provider.UUID{}, 0, 0
	for n := range res.Tasks {
		task := &res.Tasks[n]
		for _, instant := range []*provider.Time{&task.LeaseUntil, &task.NotBefore, &task.StartBy, &task.Deadline} {
			if *instant != 0 {
				*instant -= task.ScheduledAt
			}
		}
		task.Key, task.ScheduledAt = provider.UUID{}, 0
	}
	return fmt.Sprintf("%+v tasks %+v values %+v history %q", i, res.Tasks, res.Values, t.history(key, 0))
}

// An instance whose first turn came with its start equals one that was created, fetched and committed.
func firstLikeCommit(t *trial) {
	to := t.begin("to")
	describe := func(r *provider.CreateRequest) {
		r.Name, r.EngineLevel = "setup-"+r.ID, 1
		r.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}, {Name: "b", Kind: provider.AttributeInt, Number: 1}}
	}
	a := t.create("a", describe)
	due := a.CreatedAt.Add(long)
	req := commitOf(t.fetchOne(named("a"), func(r *provider.FetchTurnsRequest) { r.EngineLevel = 1 }))
	everything(a, due)(&req)
	t.commit(req)

	start := with(createRequest("b"), describe)
	start.First = firstTurn(start, everything(provider.Instance{ID: "b", Key: start.Key, Execution: 1}, due))
	b, begun := createFirst(t, start)
	if !begun {
		return
	}
	want, got := likenessOf(t, a.Key), likenessOf(t, b.Key)
	t.checkf(got == want, "the instances differ\nin turn %s\nat once %s", want, got)
	t.checkf(b.CreatedAt == b.UpdatedAt && b.CreatedAt >= to.CreatedAt && b.ReadyAt == due,
		"instants of %+v, want created and updated together, ready when the timer is due", b)
	u := t.fetchOne(named("to"))
	t.checkf(u.payloads() == "from a from b", "the inbox has %q, want \"from a from b\"", u.payloads())
	children := map[string]string{}
	for _, child := range t.fetch() {
		children[child.Instance.ID] = child.Instance.Parent.ID + ": " + child.payloads()
	}
	t.checkf(len(children) == 2 && children["child of a"] == "a: start" && children["child of b"] == "b: start",
		"the children are %v, want one of each parent with its start message", children)
	t.noTurn("no message is due", named("b"), func(r *provider.FetchTurnsRequest) { r.EngineLevel = 3 })
}

// A message sent after the start is the only one in the inbox.
func firstInbox(t *trial) {
	i, begun := createFirst(t, firstRequest("i"))
	if !begun {
		return
	}
	t.checkf(i.InboxMessages == 0 && i.ReadyAt == 0 && i.Deliveries == 0, "got %+v, want an empty inbox, ReadyAt 0 and no deliveries", i)
	t.noTurn("the start message has been consumed", named("i"))
	t.send(i.Key, text("m"))
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "m" && u.Instance.Deliveries == 1 && u.Instance.Version == i.Version,
		"got %q of %+v, want the message, on the first delivery", u.payloads(), u.Instance)
	t.commit(commitOf(u, "next"))
	t.historyIs(i.Key, 1, "1:started 2:next")
	closes := next(t.get(i.Key))
	closes.Status = provider.StatusCompleted
	t.commit(closes) // with an empty inbox
}

// The caller holds the task that the first turn leased. Its next commit completes the task.
func firstHandOff(t *trial) {
	task, token := handedOff()
	i, begun := createFirst(t, firstRequest("i", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task, newTask(2)} }))
	if !begun {
		return
	}
	other := t.fetchTask()
	is(t, "the task fetched", other.EventID, 2)
	t.ok(t.renew(renewal(leasedTask{provider.LeasedTask{TaskRef: ref(i, 1)}, token})).Err)
	req := next(i, "done")
	req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}}
	t.commit(req)
	t.tasksAre(i.Key, "2")
	t.historyIs(i.Key, 1, "1:started 2:done")
	t.ok(t.report(other, provider.TaskComplete).Err)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "result", "the inbox has %q, want \"result\"", u.payloads())
}

// Messages of the turn to its own instance, by key and by ID, and the refusal of a start under its own ID wait in the inbox.
func firstToItself(t *trial) {
	req := firstRequest("i")
	again := startOf(provider.Instance{ID: "i", Key: req.Key, Execution: 1}, "i")
	req.First.Sends = []provider.OutMessage{{Key: req.Key, Message: text("by key")}, {ID: "i", Message: text("by ID")}}
	req.First.Starts = []provider.Start{again}
	req.First.Timers = []provider.Timer{{EventID: 1, Due: 1, Payload: []byte("timer")}}
	i, begun := createFirst(t, req)
	if !begun {
		return
	}
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "timer by key by ID refused", "the inbox has %q, want \"timer by key by ID refused\"", u.payloads())
	t.commit(commitOf(u))
	is(t, "the key under the ID", t.byID("i").Key, i.Key)
}

// Tasks and timers that the turn itself cancels are not stored. The renewal of a leased one returns CancelRequested.
func firstCancels(t *trial) {
	task, token := handedOff()
	i, begun := createFirst(t, firstRequest("i", func(r *provider.CommitTurnRequest) {
		r.Tasks = []provider.NewTask{task, newTask(2), newTask(3)}
		r.CancelTasks = []provider.CancelTask{{EventID: 1}, {EventID: 2}}
		r.Timers = []provider.Timer{{EventID: 4, Due: 1, Payload: []byte("four")}, {EventID: 5, Due: 1, Payload: []byte("five")}}
		r.CancelTimers = []int64{4}
	}))
	if !begun {
		return
	}
	t.tasksAre(i.Key, "1 3")
	held := t.renew(renewal(leasedTask{provider.LeasedTask{TaskRef: ref(i, 1)}, token}))
	t.checkf(held.Err == nil && held.CancelRequested, "the renewal of the leased task returned %+v, want CancelRequested", held)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "five", "the inbox has %q, want \"five\"", u.payloads())
}

func firstSticks(t *trial) {
	i, begun := createFirst(t, firstRequest("i", func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = node, long }))
	if !begun {
		return
	}
	t.send(i.Key, text("m"))
	t.noTurn("the instance sticks to another owner", named("i"), func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" })
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "m", "got %q, want \"m\"", u.payloads())
}

// Waiting fetches return the effects of a start's first turn.
func firstWakes(t *trial) {
	if _, begun := createFirst(t, firstRequest("before")); !begun {
		return
	}
	tasks := parked(t, func() []leasedTask { return t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience }) })
	turns := parkedFetch(t)
	due := parkedFetch(t, named("i"))
	req := firstRequest("i")
	req.First.Tasks = []provider.NewTask{newTask(1)}
	req.First.Starts = []provider.Start{startOf(provider.Instance{ID: "i", Key: req.Key, Execution: 1}, "child")}
	req.First.Timers = []provider.Timer{{EventID: 2, Due: t.byID("before").CreatedAt.Add(2 * short), Payload: []byte("timer")}}
	res, err := t.Create(t.ctx, req) // waiting fetches may change the instance before it can be read
	t.ok(err)
	t.checkf(res.Begun, "Begun is false, want true")
	task, child, i := tasks(), turns(), due()
	t.checkf(len(task) == 1 && task[0].EventID == 1, "got %d tasks, want task 1", len(task))
	t.checkf(len(child) == 1 && child[0].Instance.ID == "child", "got %d turns of the child, want 1", len(child))
	t.checkf(len(i) == 1 && i[0].payloads() == "timer", "got %d turns when the timer is due, want 1", len(i))
}

func firstReplaces(t *trial) {
	old := t.end(t.begin("i"))
	var now provider.Instance
	begun := false
	t.unchanged(old.Key, func() { now, begun = createFirst(t, with(firstRequest("i"), replace)) })
	is(t, "the key under the ID", t.byID("i").Key, now.Key)
	if begun {
		t.historyIs(now.Key, 1, "1:started")
		t.noTurn("the start message has been consumed", named("i"))
	}
}
