package validations

import "github.com/perdure/perdure/provider"

func executionCases() []testCase {
	const removes = "If it ends or continues the execution, it also removes all tasks and timers of that execution."
	return []testCase{
		{name: "opens-next", run: executionOpens, rule: "It has executions 1, 2, ...; each execution has a history of events 1, 2, ... n without gaps."},
		{name: "renames", run: executionRenames, rule: "NextExecution.Name: \"\" keeps the orchestration"},
		{name: "old-history", run: executionOldHistory, rule: "Ended and replaced executions are readable until deleted."},
		{name: "removes-work", run: executionRemovesWork, rule: removes},
		{name: "messages-stay", run: executionMessages, rule: "Unconsumed messages stay in the inbox."},
		{
			name: "own-message", run: executionMessage,
			rule: "NextExecution.Message: put into the instance's inbox so that the new execution is fetched; the provider fills Execution",
		},
		{name: "old-execution-is-fenced", run: executionFence, rule: "[ErrConflict]: the key, execution, Version or history length is not the stored one"},
		{name: "same-commit-again", run: executionAgain, rule: "If the stored Version is req.Commit, the turn was stored before and the call succeeds again."},
	}
}

func executionOpens(t *trial) {
	i := t.continueAsNew(t.begin("i"))
	t.checkf(i.Execution == 2 && i.Status == provider.StatusRunning && i.HistoryLength == 1, "got %+v, want execution 2, Running, with one event", i)
	t.checkf(i.HistoryBytes == int64(len("again")) && i.Name == "setup-i",
		"%d bytes of history, name %s, want %d and setup-i", i.HistoryBytes, i.Name, int64(len("again")))
	t.historyIs(i.Key, 2, "1:again")
	t.commit(next(i, "more"))
	t.historyIs(i.Key, 0, "1:again 2:more")
}

func executionRenames(t *trial) {
	i := t.continueAsNew(t.begin("i"), func(r *provider.CommitTurnRequest) {
		r.Next.Name, r.Next.CodeVersion, r.Next.EngineLevel = orchestration, "v2", 2
	})
	t.checkf(i.Name == orchestration && i.CodeVersion == "v2" && i.EngineLevel == 2, "got %+v, want the name, version and level of Next", i)
}

func executionOldHistory(t *trial) {
	i := t.continueAsNew(t.begin("i"))
	t.historyIs(i.Key, 1, "1:started 2:continued")
	res, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, Execution: 1, From: 1})
	t.ok(err)
	t.checkf(res.Status == provider.StatusContinuedAsNew && res.Length == 2 && res.Execution == 1,
		"got %+v, want execution 1 with status ContinuedAsNew and length 2", res)
}

func executionRemovesWork(t *trial) {
	task, token := handedOff()
	i := t.beginTasks(task, newTask(2))
	req := next(i)
	req.Timers = []provider.Timer{{EventID: 3, Due: 1}}
	t.commit(req)
	i = t.continueAsNew(t.get(i.Key))
	t.tasksAre(i.Key, "")
	t.checkf(i.InboxMessages == 0 && i.ReadyAt == 0, "%d messages of the old execution remain, want none, and ReadyAt 0", i.InboxMessages)
	res := t.renew(provider.TaskRenewal{TaskRef: ref(provider.Instance{Key: i.Key, Execution: 1}, 1), Token: token})
	t.checkf(res.State == terminal(provider.StatusContinuedAsNew), "the renewal returned %+v, want Terminal with status ContinuedAsNew", res)
}

func executionMessages(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("a"))
	t.send(i.Key, text("b"))
	t.continueAsNew(i)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "a b" && u.Instance.Execution == 2, "execution %d has %q, want 2 with \"a b\"", u.Instance.Execution, u.payloads())
}

func executionMessage(t *trial) {
	m := text("go")
	t.continueAsNew(t.begin("i"), func(r *provider.CommitTurnRequest) { r.Next.Message = &m })
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "go" && u.Messages[0].Execution == 2, "got %+v, want the message of Next for execution 2", u.Messages)
}

func executionFence(t *trial) {
	i := t.begin("i")
	later := t.continueAsNew(i)
	t.refused(rich(i), provider.ErrConflict)
	req := rich(later)
	req.Execution = 1
	t.refused(req, provider.ErrConflict)
}

func executionAgain(t *trial) {
	i := t.begin("i")
	req := next(i)
	req.Next = &provider.NextExecution{CodeVersion: codeVersion}
	t.commit(req)
	t.unchanged(i.Key, func() { t.commit(req) })
	t.checkf(t.get(i.Key).Execution == 2, "execution %d, want 2", t.get(i.Key).Execution)
}
