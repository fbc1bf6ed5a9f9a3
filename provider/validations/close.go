package validations

import "github.com/perdure/perdure/provider"

func closeCases() []testCase {
	const notEmpty = "[ErrInboxNotEmpty]: a closing commit does not name all waiting messages in Consumed. Timers of this execution do not count."
	const removes = "If it ends or continues the execution, it also removes all tasks and timers of that execution."
	return []testCase{
		{name: "waiting-message", run: closeWaiting, rule: notEmpty},
		{name: "invisible-message", run: closeInvisible, rule: notEmpty},
		{name: "timers-excepted", run: closeTimers, rule: notEmpty},
		{name: "continuing-is-not-closing", run: closeNext, rule: "A commit is closing if its Status is not Running; Next does not close."},
		{name: "dead-letters", run: closeDeadLetters, rule: "With CloseInbox, the waiting messages go to the dead letters instead."},
		{name: "removes-work", run: closeRemovesWork, rule: removes},
		{name: "result", run: closeResult, rule: "CommitTurnRequest.Result: with an ended status: the opaque outcome"},
		{name: "statuses", run: closeStatuses, rule: "CommitTurnRequest.Status: StatusRunning to go on; an ended one closes the instance"},
	}
}

func closeWaiting(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	t.refused(closing(i), provider.ErrInboxNotEmpty)
	u := t.fetchOne(named("i"))
	req := closing(i)
	req.Consumed = commitOf(u).Consumed
	t.commit(req)
}

func closeInvisible(t *trial) {
	i := t.begin("i")
	m := text("m")
	m.Delay = long
	t.send(i.Key, m)
	t.refused(closing(i), provider.ErrInboxNotEmpty)
}

func closeTimers(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Timers = []provider.Timer{{EventID: 1, Due: 1}, {EventID: 2, Due: 1 << 60}}
	})
	t.commit(closing(i))
	i = t.get(i.Key)
	t.checkf(i.Status == provider.StatusCompleted && i.InboxMessages == 0, "%s with %d messages, want Completed with 0", i.Status, i.InboxMessages)
	is(t, "dead letters of timers", len(t.letters()), 0)
}

func closeNext(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	req := next(i)
	req.Next = &provider.NextExecution{CodeVersion: codeVersion}
	t.commit(req)
	is(t, "messages after the refused close", t.get(i.Key).InboxMessages, 1)
}

func closeDeadLetters(t *trial) {
	i := t.begin("i")
	m := text("m")
	m.Execution, m.EventID = 1, 4
	t.send(i.Key, m)
	req := closing(i)
	req.CloseInbox = "closed"
	t.commit(req)
	list := t.letters()
	t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
	l := list[0]
	t.checkf(!l.Task && l.Key == i.Key && l.InstanceID == "i" && l.Execution == 1 && l.EventID == 4 && l.Kind == 7,
		"got letter %+v, want message 4 of kind 7, with its execution and instance", l)
	t.checkf(l.Reason == "closed" && string(l.Payload) == "m" && l.At > 0 && l.ID > 0, "got letter %+v, want payload m, reason closed, an ID and a time", l)
	is(t, "messages in the closed inbox", t.get(i.Key).InboxMessages, 0)
}

func closeRemovesWork(t *trial) {
	task, token := handedOff()
	i := t.beginTasks(task, newTask(2))
	t.commit(closing(i))
	t.tasksAre(i.Key, "")
	is(t, "tasks of an ended execution", len(t.fetchTasks()), 0)
	res := t.renew(provider.TaskRenewal{TaskRef: ref(i, 1), Token: token})
	t.checkf(res.State == terminal(provider.StatusCompleted), "the renewal returned %+v, want Terminal with status Completed", res)
}

func closeResult(t *trial) {
	i := t.begin("i")
	res := t.commit(closing(i))
	got := t.get(i.Key)
	t.checkf(got.Status == provider.StatusCompleted && string(got.Result) == "result",
		"got %s with result %q, want Completed with \"result\"", got.Status, got.Result)
	t.checkf(got.EndedAt > 0 && got.EndedAt <= res.Now && got.ReadyAt == 0 && res.ReadyAt == 0,
		"ended at %d, ready at %d, want ended by now and ready 0", got.EndedAt, got.ReadyAt)
	t.historyIs(i.Key, 1, "1:started 2:over")
}

func closeStatuses(t *trial) {
	for _, s := range []provider.Status{provider.StatusCompleted, provider.StatusFailed, provider.StatusCancelled, provider.StatusTerminated} {
		i := t.begin(s.String())
		req := closing(i)
		req.Status = s
		t.commit(req)
		read, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, From: 1})
		t.ok(err)
		t.checkf(t.get(i.Key).Status == s && read.Status == s, "the instance has status %s, its execution %s, want %s", t.get(i.Key).Status, read.Status, s)
	}
}
