package validations

import "github.com/perdure/perdure/provider"

func steerCases() []testCase {
	const terminate = "Terminate appends the caller's opaque Event at length+1 and stores Result. It removes all tasks and timers of the " +
		"execution; the next renewal of a leased task returns Terminal. It moves the rest of the inbox to the dead letters."
	const parent = "It delivers ParentNotice to the inbox of the parent if the execution that started the instance still runs."
	const children = "It delivers ChildNotice to every running child with close policy Cancel, Suspended ones included."
	const reset = "Reset closes the current execution with status Reset, or keeps its ended status. It opens the next one, " +
		"Running, with Events as its history. Tasks and timers of the old one are removed; inbox messages stay."
	return []testCase{
		{name: "suspend-and-resume", run: steerSuspend, rule: "Suspend keeps turns from being fetched and queued tasks from being started. Resume ends that."},
		{name: "new-version", run: steerVersion, rule: "It is not fenced: it applies to whatever is stored, atomically. It writes a new Version"},
		{name: "same-commit-again", run: steerAgain, rule: "If the stored Version is already req.Commit, the call succeeds again and changes nothing."},
		{name: "ended", run: steerEnded, rule: "For an ended instance, every action except Reset returns [ErrEnded]."},
		{name: "unknown", run: steerUnknown, rule: "Steer changes an instance from outside: suspend, resume, terminate, unblock, reset, move, drop."},
		{name: "terminate", run: steerTerminate, rule: terminate},
		{name: "terminate-tells-parent", run: steerParent, rule: parent},
		{name: "terminate-tells-a-held-parent", run: steerHeldParent, rule: "Suspended counts as running."},
		{name: "terminate-of-old-parent", run: steerOldParent, rule: parent},
		{name: "terminate-tells-children", run: steerChildren, rule: children},
		{name: "unblock", run: steerUnblock, rule: "Unblock clears the Blocked flag and sets Deliveries to 0."},
		{name: "reset-running", run: steerReset, rule: reset},
		{name: "reset-ended", run: steerResetEnded, rule: reset},
		{name: "reset-level", run: steerResetLevel, rule: "SteerRequest.EngineLevel: Reset: of the new execution"},
		{name: "by-key-or-id", run: steerNamed, rule: "SteerRequest names an instance by Key, or by ID when Key is zero."},
		{name: "event", run: steerEvent, rule: "SteerRequest.Event: appended to the history; nil for none"},
		{name: "no-event", run: steerBare, rule: "It invents no events, IDs or decisions."},
	}
}

func steerSuspend(t *trial) {
	i := t.create("i")
	got := t.steer(i.Key, provider.SteerSuspend, func(r *provider.SteerRequest) { r.Event = []byte("suspended") })
	t.checkf(got.Status == provider.StatusSuspended && got.HistoryLength == 1, "got %+v, want Suspended with the event", got)
	t.noTurn("the instance is suspended")
	got = t.steer(i.Key, provider.SteerResume, func(r *provider.SteerRequest) { r.Event = []byte("resumed") })
	t.checkf(got.Status == provider.StatusRunning, "status %s, want %s", got.Status, provider.StatusRunning)
	t.historyIs(i.Key, 1, "1:suspended 2:resumed")
	u := t.fetchOne()
	t.checkf(u.payloads() == "start" && u.Instance.HistoryLength == 2, "got %+v, want the start message and two events", u)
}

func steerVersion(t *trial) {
	i := t.begin("i")
	commit := unique()
	got := t.steer(i.Key, provider.SteerSuspend, func(r *provider.SteerRequest) { r.Commit = commit })
	t.checkf(got.Version == commit && got.UpdatedAt >= i.UpdatedAt, "version %s, want %s and a later UpdatedAt", got.Version, commit)
}

func steerAgain(t *trial) {
	i := t.begin("i")
	req := provider.SteerRequest{ID: "i", Action: provider.SteerTerminate, Commit: unique(), Event: []byte("end"), Result: []byte("r")}
	_, err := t.Steer(t.ctx, req)
	t.ok(err)
	t.unchanged(i.Key, func() {
		res, err := t.Steer(t.ctx, req)
		t.ok(err)
		t.checkf(res.Instance.Status == provider.StatusTerminated, "status %s, want %s", res.Instance.Status, provider.StatusTerminated)
	})
}

func steerEnded(t *trial) {
	i := t.end(t.begin("i"))
	t.unchanged(i.Key, func() {
		for _, action := range []provider.SteerAction{
			provider.SteerSuspend, provider.SteerResume, provider.SteerTerminate, provider.SteerUnblock, provider.SteerMove,
		} {
			_, err := t.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: action, Commit: unique(), Event: []byte("e")})
			t.want(err, provider.ErrEnded)
		}
	})
}

func steerUnknown(t *trial) {
	_, err := t.Steer(t.ctx, provider.SteerRequest{ID: "nobody", Action: provider.SteerSuspend, Commit: unique()})
	t.want(err, provider.ErrNotFound)
}

func steerTerminate(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	task := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	req := next(i)
	req.Timers = []provider.Timer{{EventID: 5, Due: 1}}
	t.commit(req)
	t.send(i.Key, text("m"))
	got := t.steer(i.Key, provider.SteerTerminate, func(r *provider.SteerRequest) { r.Event, r.Result = []byte("end"), []byte("r") })
	t.checkf(got.Status == provider.StatusTerminated && string(got.Result) == "r" && got.EndedAt > 0, "got %+v, want Terminated with its result and end", got)
	t.historyIs(i.Key, 1, "1:started 2:end")
	t.tasksAre(i.Key, "")
	t.checkf(got.InboxMessages == 0 && got.ReadyAt == 0, "%d messages remain, want none, and ReadyAt 0", got.InboxMessages)
	list := t.letters()
	t.checkf(len(list) == 1 && string(list[0].Payload) == "m", "dead letters %+v, want the message m", list)
	res := t.renew(renewal(task))
	t.checkf(res.State == terminal(provider.StatusTerminated), "the renewal returned %+v, want Terminal with status Terminated", res)
}

func notices(r *provider.SteerRequest) {
	parent, child := text("to parent"), text("to child")
	r.ParentNotice, r.ChildNotice = &parent, &child
}

// steerHeldParent terminates children whose parent makes no turn.
func steerHeldParent(t *trial) {
	same := func(*provider.Start) {}
	i := beginFamily(t, same, same)
	t.steer(i.Key, provider.SteerSuspend)
	t.steer(t.byID("a").Key, provider.SteerTerminate, notices)
	is(t, "messages to a Suspended parent", t.get(i.Key).InboxMessages, 1)
	t.steer(i.Key, provider.SteerResume)
	t.block(t.fetchOne(named("parent")), true)
	t.steer(t.byID("b").Key, provider.SteerTerminate, notices)
	is(t, "messages to a Blocked parent", t.get(i.Key).InboxMessages, 2)
}

func steerParent(t *trial) {
	beginFamily(t, func(*provider.Start) {})
	t.steer(t.byID("a").Key, provider.SteerTerminate, notices)
	u := t.fetchOne(named("parent"))
	t.mustf(len(u.Messages) == 1, "the parent got %d messages, want 1", len(u.Messages))
	m := u.Messages[0]
	t.checkf(string(m.Payload) == "to parent" && m.EventID == 3 && m.Execution == 1, "the parent got %+v, want the notice for event 3 of execution 1", m)
}

func steerOldParent(t *trial) {
	i := t.continueAsNew(beginFamily(t, func(*provider.Start) {}))
	t.unchanged(i.Key, func() { t.steer(t.byID("a").Key, provider.SteerTerminate, notices) })
}

func steerChildren(t *trial) {
	i := beginFamily(t, func(*provider.Start) {}, func(s *provider.Start) { s.Create.Parent.Close = provider.CloseAbandon }, func(*provider.Start) {})
	t.steer(t.byID("c").Key, provider.SteerTerminate)
	t.steer(i.Key, provider.SteerTerminate, notices)
	for id, want := range map[string]int64{"a": 2, "b": 1, "c": 0} {
		got := t.byID(id).InboxMessages
		t.checkf(got == want, "child %s has %d messages, want %d", id, got, want)
	}
}

func steerUnblock(t *trial) {
	i := t.create("i")
	t.block(t.fetchOne(), true)
	got := t.steer(i.Key, provider.SteerUnblock)
	t.checkf(got.Blocked == nil && got.Deliveries == 0, "blocked %+v, %d deliveries, want neither", got.Blocked, got.Deliveries)
	t.fetchOne()
}

func steerReset(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	req := next(i)
	req.Timers = []provider.Timer{{EventID: 5, Due: 1, Payload: []byte("timer")}}
	t.commit(req)
	t.send(i.Key, text("m"))
	got := t.steer(i.Key, provider.SteerReset, resetTo("one", "two"))
	t.checkf(got.Execution == 2 && got.Status == provider.StatusRunning && got.HistoryLength == 2, "got %+v, want execution 2, Running, with two events", got)
	t.historyIs(i.Key, 2, "1:one 2:two")
	t.historyIs(i.Key, 1, "1:started")
	t.tasksAre(i.Key, "")
	res := t.renew(renewal(task))
	t.checkf(res.State == terminal(provider.StatusReset), "the renewal returned %+v, want Terminal with status Reset", res)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "m" && u.Instance.Execution == 2, "execution %d has %q, want 2 with \"m\"", u.Instance.Execution, u.payloads())
}

func steerResetEnded(t *trial) {
	i := t.end(t.begin("i"))
	got := t.steer(i.Key, provider.SteerReset, resetTo("one"))
	t.checkf(got.Status == provider.StatusRunning && got.Execution == 2 && got.EndedAt == 0 && got.Result == nil,
		"got %+v, want execution 2, Running, without end or result", got)
	read, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, Execution: 1, From: 1})
	t.ok(err)
	t.checkf(read.Status == provider.StatusCompleted, "the old execution has status %s, want %s", read.Status, provider.StatusCompleted)
	t.send(i.Key, text("m"))
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "m", "got %q, want \"m\"", u.payloads())
}
