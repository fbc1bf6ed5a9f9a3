package validations

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/provider"
)

// detourCases checks what an item keeps on a way that few tests take, and what an earlier call leaves behind.
func detourCases() []testCase {
	return slices.Concat([]testCase{
		{name: "fields-on-each-way", run: detourMessages, rule: "Message.EventID: the event of that execution that it answers; 0: none"},
		{
			name: "task-on-each-way", run: detourTasks,
			rule: "FetchTasks leases up to Max activity tasks of the named queues and activity names.",
		},
		{name: "redrive-of-a-pending-task", run: detourPending, rule: "An item that cannot go back stays and is not counted."},
		{name: "delay-of-an-earlier-release", run: leftDelay, rule: "ReleaseClean lowers Deliveries again. The instance is fetchable after Delay."},
		{name: "turns-after-a-release", run: leftTurns, rule: "A task that was leased once takes no more turns."},
		{name: "fetched-twice", run: fetchedTwice, rule: "Result slices belong to the caller."},
		{
			name: "exact-claim-ahead", run: exactClaim,
			rule: "A claim ahead is a lease without any visible message. It ends when a message arrives that is visible before all others, " +
				"and its delivery is not counted.",
		},
	}, needs(lackingFirstTurns, []testCase{
		{name: "begun-without-a-request", run: begunAgain, rule: "Begun reports that the stored Version is First.Commit."},
	}), needs(lacking[provider.Opener], []testCase{
		{
			name: "notices-of-a-reset-to-itself", run: noticesToSelf,
			rule: "Notices are delivered as a commit delivers its Sends. A refusal goes into the inbox of the instance.",
		},
	}))
}

// ways are all ways on which a message reaches an instance.
func ways(t *trial) map[string]func(to provider.Instance, m provider.NewMessage) {
	commit := func(i provider.Instance, change func(*provider.CommitTurnRequest)) { t.commit(with(next(i), change)) }
	terminate := func(i provider.Instance, change func(*provider.SteerRequest)) {
		t.steer(i.Key, provider.SteerTerminate, change)
	}
	none := provider.OutMessage{ID: "nobody", Message: text("lost")}
	report := func(outcome provider.TaskOutcome) func(to provider.Instance, m provider.NewMessage) {
		return func(to provider.Instance, m provider.NewMessage) {
			commit(to, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
			t.ok(t.report(t.fetchTask(), outcome, func(r *provider.TaskReport) { r.Message, r.Reason = m, "test" }).Err)
		}
	}
	list := map[string]func(to provider.Instance, m provider.NewMessage){
		"Send": func(to provider.Instance, m provider.NewMessage) { t.send(to.Key, m) },
		"Create with Messages": func(to provider.Instance, m provider.NewMessage) {
			t.create(to.ID, func(r *provider.CreateRequest) {
				r.Policy, r.Messages = provider.IDUseExisting, []provider.NewMessage{m}
			})
		},
		"a Send of a commit": func(to provider.Instance, m provider.NewMessage) {
			commit(t.begin(fresh()), func(r *provider.CommitTurnRequest) { r.Sends = []provider.OutMessage{{Key: to.Key, Message: m}} })
		},
		"a refused Send": func(to provider.Instance, m provider.NewMessage) {
			commit(to, func(r *provider.CommitTurnRequest) {
				r.Sends = []provider.OutMessage{{ID: "nobody", Message: text("lost"), Refused: &m}}
			})
		},
		"Replies.Accepted": func(to provider.Instance, m provider.NewMessage) {
			out := provider.OutMessage{Key: t.begin(fresh()).Key, Message: text("m"), Replies: &provider.Replies{Accepted: m}}
			commit(to, func(r *provider.CommitTurnRequest) { r.Sends = []provider.OutMessage{out} })
		},
		"Replies.Gone": func(to provider.Instance, m provider.NewMessage) {
			out := none
			out.Replies = &provider.Replies{Gone: m}
			commit(to, func(r *provider.CommitTurnRequest) { r.Sends = []provider.OutMessage{out} })
		},
		"Start.Refused": func(to provider.Instance, m provider.NewMessage) {
			start := startOf(to, to.ID)
			start.Refused = m
			commit(to, func(r *provider.CommitTurnRequest) { r.Starts = []provider.Start{start} })
		},
		"Start.Accepted": func(to provider.Instance, m provider.NewMessage) {
			start := startOf(to, fresh())
			start.Accepted = &m
			commit(to, func(r *provider.CommitTurnRequest) { r.Starts = []provider.Start{start} })
		},
		"a Listener": func(to provider.Instance, m provider.NewMessage) {
			terminate(t.create(fresh(), func(r *provider.CreateRequest) { r.Listener = &provider.Listener{Key: to.Key, Message: m} }), func(*provider.SteerRequest) {})
		},
		"Notices": func(to provider.Instance, m provider.NewMessage) {
			terminate(t.begin(fresh()), func(r *provider.SteerRequest) { r.Notices = []provider.OutMessage{{Key: to.Key, Message: m}} })
		},
		"Complete": report(provider.TaskComplete),
		"Poison":   report(provider.TaskPoison),
	}
	if lacking[provider.TaskSteerer](t.store) == "" {
		list["SteerTask"] = func(to provider.Instance, m provider.NewMessage) {
			commit(to, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
			_, err := t.actOn(ref(to, 1), 1, provider.SteerTaskComplete, func(r *provider.SteerTaskRequest) { r.Message = m })
			t.ok(err)
		}
	}
	return list
}

func detourMessages(t *trial) {
	list := ways(t)
	for _, way := range slices.Sorted(maps.Keys(list)) {
		to := t.begin(way)
		list[way](to, provider.NewMessage{Kind: 9, Execution: 1, EventID: 5, Payload: []byte("sent")})
		turns := t.fetch(named(way))
		t.mustf(len(turns) == 1 && len(turns[0].Messages) == 1, "%s: got %d turns, want one with one message", way, len(turns))
		m := turns[0].Messages[0]
		t.checkf(m.Kind == 9 && m.Execution == 1 && m.EventID == 5 && string(m.Payload) == "sent" && !m.Timer,
			"%s brought %+v, want kind 9 for event 5 of execution 1, \"sent\"", way, m)
	}
	i := t.begin("parent")
	child := t.create("child", under(i), func(r *provider.CreateRequest) {
		r.Name, r.Parent.Close, r.Message = "setup-child", provider.CloseCancel, provider.NewMessage{Kind: 9, Execution: 4, EventID: 5}
	})
	t.steer(i.Key, provider.SteerTerminate, func(r *provider.SteerRequest) {
		r.ChildNotice = &provider.NewMessage{Kind: 8, Execution: 6, EventID: 7}
	})
	u := t.fetchOne(named("child"))
	t.mustf(len(u.Messages) == 2, "%d messages to %s, want the start and the notice", len(u.Messages), child.ID)
	start, notice := u.Messages[0], u.Messages[1]
	t.checkf(start.Kind == 9 && start.Execution == 4 && start.EventID == 5, "the start message is %+v, want kind 9 for event 5 of execution 4", start)
	t.checkf(notice.Kind == 8 && notice.Execution == 6 && notice.EventID == 7, "ChildNotice brought %+v, want kind 8 for event 7 of execution 6", notice)
}

// detourTasks leases a task again on each way on which it comes back.
func detourTasks(t *trial) {
	task := newTask(1)
	task.Priority, task.FairnessKey, task.Session, task.StartBy, task.Deadline = provider.PriorityHighest, "fair", "s", 20*long, 30*long
	i := t.beginTasks(task)
	mine := holding(node, 1)
	held := t.fetchTask(mine)
	infoNow := func() provider.TaskInfo { return t.infoOf(i.Key) }
	was := infoNow()
	report := func(outcome provider.TaskOutcome) func() {
		return func() { t.ok(t.report(held, outcome).Err) }
	}
	list := map[string]func(){
		"Release": report(provider.TaskRelease), "Retry": report(provider.TaskRetry), "Discard": report(provider.TaskDiscard),
		"ReleaseAll": func() {
			item := provider.TaskReport{Token: held.token, Outcome: provider.TaskReleaseAll}
			_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
			t.ok(err)
		},
		"an expired lease": func() {
			t.ok(t.report(held, provider.TaskRelease).Err)
			t.fetchTask(mine, brieflyTask)
			t.pass(2 * short)
		},
		"Suspend and Resume": func() {
			t.ok(t.report(held, provider.TaskRelease).Err)
			t.steer(i.Key, provider.SteerSuspend)
			t.steer(i.Key, provider.SteerResume)
		},
		"Park and Retry": func() {
			t.ok(t.report(held, provider.TaskPark).Err)
			t.ok(t.report(held, provider.TaskRetry).Err)
		},
	}
	if lacking[provider.TaskSteerer](t.store) == "" {
		list["Hold and Release"] = func() {
			attempt := t.act(held.TaskRef, held.Attempt, provider.SteerTaskHold)
			t.act(held.TaskRef, attempt, provider.SteerTaskRelease)
		}
	}
	for _, way := range slices.Sorted(maps.Keys(list)) {
		list[way]()
		got := t.fetchTask(mine)
		t.checkf(got.TaskRef == held.TaskRef && got.InstanceID == "i" && got.Queue == queue && got.Name == activity && bytes.Equal(got.Payload, task.Payload) &&
			got.Priority == task.Priority && got.ScheduledAt == held.ScheduledAt && got.StartBy == held.StartBy && got.Deadline == held.Deadline,
			"after %s the task is %+v, want its queue, name, payload, priority and times as before, %+v", way, got.LeasedTask, held.LeasedTask)
		info := infoNow()
		t.checkf(info.FairnessKey == "fair" && info.Session == "s" && info.ScheduledAt == was.ScheduledAt,
			"after %s the task is shown as %+v, want its fairness key and session", way, info)
		held = got
	}
}

// detourPending redrives a task whose event has another pending task by now.
func detourPending(t *trial) {
	i := t.beginTasks(newTask(1))
	t.ok(t.report(t.fetchTask(), provider.TaskPoison).Err)
	again := newTask(1)
	again.Payload = []byte("again")
	req := next(t.get(i.Key))
	req.Tasks = []provider.NewTask{again}
	t.commit(req)
	list := t.letters()
	t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
	is(t, "letters redriven onto a pending task", actOnLetters(t, provider.DeadLettersRedrive, list[0].ID), 0)
	is(t, "dead letters afterwards", len(t.letters()), 1)
	is(t, "the payload of the pending task", string(t.fetchTask().Payload), "again")
	t.noTask("one task is pending")
}

// leftDelay releases with a short delay, and once that is over without one.
func leftDelay(t *trial) {
	delays := map[string]func(*provider.TurnRelease){
		"ReleaseClean": func(r *provider.TurnRelease) { r.Delay = short },
		"ReleaseToken": func(r *provider.TurnRelease) { r.Kind, r.Key, r.Delay = provider.ReleaseToken, provider.UUID{}, short },
		"ReleaseFailed": func(r *provider.TurnRelease) {
			r.Kind, r.Delay, r.Failure = provider.ReleaseFailed, short, &provider.TurnFailure{Reason: "panic"}
		},
	}
	for _, how := range slices.Sorted(maps.Keys(delays)) {
		i := t.begin(how)
		t.send(i.Key, text("m"))
		t.ok(t.release(t.fetchOne(named(how)), delays[how]))
		t.ok(t.release(t.fetchOne(named(how))))
		is(t, "turns at once after a release without a delay, after "+how+" with one", len(t.fetch(named(how))), 1)
	}
}

// leftTurns releases tasks of a fairness key that were leased once. The next task of the key follows no task that waits for its first lease.
func leftTurns(t *trial) {
	stockQueue(t, "i", "a1", "a2", "a3")
	first := t.fetchTask(one)
	t.ok(t.report(first, provider.TaskRelease).Err)
	req := fetchTasksRequest()
	_, err := t.FetchTasks(t.ctx, req)
	t.ok(err)
	releaseToken(t, req.Token)
	stockQueue(t, "i", "a4")
	stockQueue(t, "j", "b1")
	list := t.fetchTasks()
	t.mustf(len(list) == 5, "got %d tasks, want 5", len(list))
	is(t, "the fourth task", string(list[3].Payload), "a4")
	for _, task := range list[3:] {
		is(t, fmt.Sprintf("the rank of %s, before which no task waits for its first lease", task.Payload), task.Rank, task.ScheduledAt)
	}
}

// fetchedTwice changes what a fetch has returned, gives it back and fetches it again.
func fetchedTwice(t *trial) {
	i := t.create("i", func(r *provider.CreateRequest) {
		r.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: "stored"}}
	})
	for range 3 {
		u := t.fetchOne()
		got := fmt.Sprint(u.payloads(), " ", u.Instance.Attributes)
		is(t, "a turn that its caller has changed and given back", got, "start [{a 1 stored 0}]")
		scribble(&u.Turn)
		u.Instance.Key = i.Key
		t.ok(t.release(u))
	}
	req := commitOf(t.fetchOne())
	req.Tasks = []provider.NewTask{newTask(1)}
	t.commit(req)
	for range 3 {
		task := t.fetchTask()
		is(t, "a task that its caller has changed and given back", string(task.Payload), "task1")
		scribble(&task.LeasedTask)
		t.ok(t.report(task, provider.TaskRelease).Err)
	}
	if lacking[provider.Asker](t.store) != "" {
		return
	}
	asked := parkedAsk(t, i.Key)
	var id provider.UUID
	for range 3 {
		open := fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Lease = short })
		is(t, "a question that its caller has changed and left", string(open.Payload)+fmt.Sprint(open.Instance.Attributes), "question[{a 1 stored 0}]")
		id = open.AskID
		scribble(&open)
	}
	reply := provider.AnswerRequest{AskID: id, Payload: []byte("answer")}
	t.ok(t.Answer(t.ctx, reply))
	scribble(&reply)
	is(t, "the answer", asked(), answer{payload: "answer"})
}

// exactClaim sets a timer at the very moment for which a claim ahead waits, and just before it.
func exactClaim(t *trial) {
	for _, earlier := range []provider.Time{0, 1} {
		id := fmt.Sprint("earlier by ", earlier)
		u, req := farTimer(t, id)
		t.commit(req)
		again := next(t.get(u.Instance.Key))
		again.Timers = []provider.Timer{{EventID: 7, Due: req.Timers[0].Due - earlier}}
		t.commit(again)
		err := t.release(u)
		t.checkf((err == nil) == (earlier == 0),
			"a timer %d µs before the moment for which a claim waits: the release of the claim returned %v, want an error only if it is earlier", earlier, err)
	}
}

// begunAgain repeats a start with its first turn, without a request ID.
func begunAgain(t *trial) {
	req := firstRequest("i")
	req.Policy = provider.IDUseExisting
	createFirst(t, req)
	again := func(req provider.CreateRequest, want bool) {
		res, err := t.Create(t.ctx, req)
		t.ok(err)
		t.checkf(!res.Created && res.Begun == want, "got Created %v and Begun %v, want false and %v", res.Created, res.Begun, want)
	}
	again(req, true)
	again(with(firstRequest("i"), func(r *provider.CreateRequest) { r.Policy = provider.IDUseExisting }), false)
	t.commit(next(t.get(req.Key)))
	again(req, false)
}

// noticesToSelf resets an instance and sends it notices.
func noticesToSelf(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("waits"))
	p := prefix("one")
	p.Messages = []provider.CarriedMessage{{Message: text("carried"), At: 9}}
	req := resetOf(t.get(i.Key), p)
	req.Notices = []provider.OutMessage{{Key: i.Key, Message: text("own"), Replies: replies()}, {ID: "i", Message: text("too")}}
	t.reset(req)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "carried waits own accepted too")
}
