package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// secondCases checks what an implementation that handles one item well gets wrong for the next: the second item of a batch, the
// second child, the grandchild, the other queue.
func secondCases() []testCase {
	return []testCase{
		{name: "second-of-each-part", run: secondParts, rule: "CommitTurn applies one turn of one instance: all of it, or nothing."},
		{
			name: "second-of-each-batch", run: secondItems,
			rule: "ReportTasks ends or changes leases of tasks. Each item is atomic and independent of the others.",
		},
		{name: "every-child-is-told", run: secondChildren, rule: "It delivers ChildNotice to every running child with close policy Cancel, Suspended ones included."},
		{name: "grandchild-keeps-the-tree", run: secondGrandchild, rule: "A parent with a running child stays and does not count towards Max."},
		{
			name: "one-release-of-a-token", run: secondRelease,
			rule: "ReleaseTurns ends turn leases without a commit. Its items are independent of each other.",
		},
		{
			name: "all-releases-of-a-token", run: secondReleases,
			rule: "ReleaseToken ends all leases that its Token holds, and lowers their Deliveries. So a caller can release " +
				"the leases of a fetch whose result it never got.",
		},
		{name: "one-report-of-a-token", run: secondReport, rule: "The Token of a fetch holds all tasks that the fetch has leased."},
		{name: "other-queue", run: secondQueue, rule: "FetchTasks leases up to Max activity tasks of the named queues and activity names."},
		{
			name: "sessions-within-one-fetch", run: secondSession,
			rule: "SessionClaim.Max: how many sessions Owner may hold; 0: no task with a session is returned",
		},
		{name: "details-outlive-a-lease", run: secondLease, rule: "Each item has the ExecutionState of the execution that wants the result, the Attempt, the " +
			"Deliveries (raised by this lease), the last heartbeat details and the last failure."},
		{
			name: "second-execution", run: secondExecution,
			rule: "Reset closes the current execution with status Reset, or keeps its ended status. It opens the next one, " +
				"Running, with Events as its history. Tasks and timers of the old one are removed; inbox messages stay.",
		},
	}
}

// secondParts commits two of everything.
func secondParts(t *trial) {
	task, token := handedOff()
	other := newTask(2)
	other.Lease = &provider.TaskLease{Token: token, Owner: node, Duration: long}
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Tasks = []provider.NewTask{task, other, newTask(3), newTask(4), newTask(5)}
		r.Timers = []provider.Timer{{EventID: 6, Due: 1 << 60}, {EventID: 7, Due: 1 << 60}, {EventID: 8, Due: 1 << 60}}
		r.Values = []provider.KeyValue{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("1")}}
	})
	x := t.begin("x")
	t.begin("y")
	req := next(i, "one", "two")
	for _, word := range []string{"a", "b"} {
		req.Consumed = append(req.Consumed, t.send(i.Key, text(word)).MessageID)
	}
	refused := text("refused")
	req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}, {EventID: 2, Token: token}}
	req.CancelTasks = []provider.CancelTask{{EventID: 3}, {EventID: 4}}
	req.CancelTimers = []int64{6, 7}
	req.Tasks = []provider.NewTask{newTask(9), newTask(10)}
	req.Timers = []provider.Timer{{EventID: 11, Due: 1 << 60}, {EventID: 12, Due: 1 << 60}}
	req.Values = []provider.KeyValue{{Key: "a"}, {Key: "b", Value: []byte("2")}, {Key: "c", Value: []byte("3")}}
	req.Sends = []provider.OutMessage{
		{Key: x.Key, Message: text("to x")},
		{ID: "y", Message: text("to y")},
		{ID: "nobody", Message: text("m"), Refused: &refused},
		{ID: "nobody else", Message: text("m"), Refused: &refused},
	}
	req.Starts = []provider.Start{startOf(i, "p"), startOf(i, "q"), startOf(i, "x"), startOf(i, "y")}
	t.commit(req)
	t.historyIs(i.Key, 1, "1:started 2:one 3:two")
	t.tasksAre(i.Key, "5 9 10")
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithValues: true})
	t.ok(err)
	words := make([]string, 0, len(res.Values))
	for _, v := range res.Values {
		words = append(words, v.Key+"="+string(v.Value))
	}
	is(t, "the values", strings.Join(words, " "), "b=2 c=3")
	is(t, "messages: three timers, two refused sends and two refused starts", res.Instance.InboxMessages, 7)
	for _, id := range []string{"x", "y", "p", "q"} {
		is(t, "messages of "+id, t.byID(id).InboxMessages, 1)
	}
}

// secondItems puts a bad item before a good one in each batch.
func secondItems(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	list := t.fetchTasks()
	t.mustf(len(list) == 2, "got %d tasks, want 2", len(list))
	lost := list[0]
	lost.token = unique()
	renewed, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: long, Items: []provider.TaskRenewal{
		renewal(lost), {TaskRef: list[0].TaskRef, Token: list[0].token, Details: []byte("a")}, {TaskRef: list[1].TaskRef, Token: list[1].token, Details: []byte("b")},
	}})
	t.ok(err)
	t.mustf(len(renewed.Items) == 3, "%d results, want 3", len(renewed.Items))
	t.want(renewed.Items[0].Err, provider.ErrLeaseLost)
	t.checkf(renewed.Items[1].Err == nil && renewed.Items[2].Err == nil, "got %+v, want the renewals after the lost one", renewed.Items)
	reported, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{
		reportOf(lost, provider.TaskComplete), reportOf(list[0], provider.TaskPoison), reportOf(list[1], provider.TaskRetry),
	}})
	t.ok(err)
	t.mustf(len(reported.Items) == 3, "%d results, want 3", len(reported.Items))
	t.want(reported.Items[0].Err, provider.ErrLeaseLost)
	t.checkf(reported.Items[1].Err == nil && reported.Items[2].Err == nil, "got %+v, want the reports after the lost one", reported.Items)
	t.tasksAre(i.Key, "2")
	is(t, "the details of the second task", string(t.fetchTask().Details), "b")
	leaveMoreDeadLetters(t, 2)
	letters := t.letters()
	t.mustf(len(letters) == 3, "%d dead letters, want 3", len(letters))
	is(t, "letters redriven", actOnLetters(t, provider.DeadLettersRedrive, 1<<40, letters[1].ID, letters[2].ID), 2)
	is(t, "letters discarded", actOnLetters(t, provider.DeadLettersDiscard, 1<<40, letters[0].ID), 1)
}

// leaveMoreDeadLetters makes n dead letters of messages to an instance that runs again.
func leaveMoreDeadLetters(t *trial, n int) {
	i := t.begin("buried")
	for k := range n {
		t.send(i.Key, text(fmt.Sprint("m", k)))
	}
	t.steer(i.Key, provider.SteerTerminate)
	t.steer(i.Key, provider.SteerReset)
}

// secondChildren terminates a parent of five children and checks which of them, and that no grandchild, are told.
func secondChildren(t *trial) {
	plain := func(*provider.Start) {}
	i := beginFamily(t, plain, plain, func(s *provider.Start) { s.Create.Parent.Close = provider.CloseAbandon }, plain, plain)
	t.steer(t.byID("b").Key, provider.SteerSuspend)
	t.steer(t.byID("d").Key, provider.SteerTerminate)
	t.create("below", under(t.byID("a")))
	t.create("no relative")
	t.steer(i.Key, provider.SteerTerminate, notices)
	for id, want := range map[string]int64{"a": 2, "b": 2, "c": 1, "d": 0, "e": 2, "below": 1, "no relative": 1} {
		is(t, "messages of "+id, t.byID(id).InboxMessages, want)
	}
}

// secondGrandchild prunes a tree of which only the grandchild runs.
func secondGrandchild(t *trial) {
	i := beginFamily(t, func(*provider.Start) {})
	child := t.byID("a")
	below := t.create("below", under(child))
	t.steer(child.Key, provider.SteerTerminate)
	t.steer(i.Key, provider.SteerTerminate)
	is(t, "instances pruned above a running grandchild", prune(t, provider.PruneRequest{}), 0)
	for _, key := range []provider.UUID{i.Key, child.Key, below.Key} {
		t.get(key)
	}
	t.steer(below.Key, provider.SteerTerminate)
	is(t, "instances pruned after its end", prune(t, provider.PruneRequest{}), 3)
	t.gone(below.Key)
}

// fetchThree leases three instances under one token.
func fetchThree(t *trial) []turn {
	for n := range 3 {
		t.create(fmt.Sprint("i", n))
	}
	list := t.fetch()
	t.mustf(len(list) == 3, "got %d turns, want 3", len(list))
	return list
}

func secondRelease(t *trial) {
	list := fetchThree(t)
	t.ok(t.release(list[1]))
	got := t.fetch()
	t.mustf(len(got) == 1, "got %d turns after the release of one, want 1", len(got))
	is(t, "the released instance", got[0].Instance.Key, list[1].Instance.Key)
	t.ok(t.release(list[0]))
	t.ok(t.release(list[2]))
}

func secondReleases(t *trial) {
	list := fetchThree(t)
	t.create("another")
	mine := t.fetchOne()
	_, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{
		{Kind: provider.ReleaseToken, Token: unique()}, {Kind: provider.ReleaseToken, Token: list[0].token},
	}})
	t.ok(err)
	is(t, "turns after the release of a token", len(t.fetch()), 3)
	t.ok(t.release(mine))
}

func secondReport(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2), newTask(3))
	list := t.fetchTasks()
	t.mustf(len(list) == 3, "got %d tasks, want 3", len(list))
	t.ok(t.report(list[1], provider.TaskRelease).Err)
	got := t.fetchTasks()
	t.mustf(len(got) == 1, "got %d tasks after the release of one, want 1", len(got))
	is(t, "the released task", got[0].TaskRef, list[1].TaskRef)
	t.ok(t.report(list[0], provider.TaskComplete).Err)
	t.ok(t.report(list[2], provider.TaskComplete).Err)
	t.tasksAre(i.Key, "2")
}

func secondQueue(t *trial) {
	elsewhere, other := newTask(2), newTask(3)
	elsewhere.Queue, other.Name = "elsewhere", "other"
	t.beginTasks(newTask(1), elsewhere, other)
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) {
		r.Queues = append(r.Queues, provider.QueueFilter{Queue: "elsewhere", Names: []string{"nothing", activity}})
	})
	is(t, "tasks of two queues", events(list), "1 2")
	list = t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Queues[0].Names = []string{activity, "other"} })
	is(t, "tasks of two names", events(list), "3")
}

func secondSession(t *trial) {
	t.beginTasks(ofSessions("a", "b", "a", "c", "b", "", "d")...)
	req := with(fetchTasksRequest(), holding("x", 2))
	res, err := t.FetchTasks(t.ctx, req)
	t.ok(err)
	is(t, "sessions of the owner", res.Sessions, 2)
	list := make([]leasedTask, 0, len(res.Tasks))
	for _, task := range res.Tasks {
		list = append(list, leasedTask{task, provider.TaskToken(req.Token, task.TaskRef)})
	}
	is(t, "tasks within two sessions", events(list), "1 2 3 5 6")
	is(t, "tasks of the other sessions", events(t.fetchTasks(holding("y", 2))), "4 7")
}

// secondLease leases a task again after its lease expired. The heartbeat details of the first lease are still there.
func secondLease(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask(brieflyTask)
	renew := func(task leasedTask, details string) {
		res, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: short, Items: []provider.TaskRenewal{
			{TaskRef: task.TaskRef, Token: task.token, Details: []byte(details)},
		}})
		t.ok(err)
		t.mustf(len(res.Items) == 1 && res.Items[0].Err == nil, "the renewal returned %+v, want one result without an error", res.Items)
	}
	renew(task, "half")
	t.pass(2 * short)
	is(t, "the details after the lease expired", string(t.infoOf(i.Key).Details), "half")
	task = t.fetchTask(brieflyTask)
	is(t, "the details of the second lease", string(task.Details), "half")
	t.pass(2 * short)
	task = t.fetchTask()
	is(t, "the details of the third lease", string(task.Details), "half")
	t.ok(t.report(task, provider.TaskRelease).Err)
	is(t, "the details after a release", string(t.fetchTask().Details), "half")
}

// infoOf returns the only task of an instance.
func (t *trial) infoOf(key provider.UUID) provider.TaskInfo {
	res, err := t.Get(t.ctx, provider.GetRequest{Key: key, WithTasks: true})
	t.ok(err)
	t.mustf(len(res.Tasks) == 1, "%d tasks, want 1", len(res.Tasks))
	return res.Tasks[0]
}

// secondExecution resets an instance twice, with work in each execution.
func secondExecution(t *trial) {
	i := t.begin("i")
	for n := int64(2); n <= 3; n++ {
		req := next(i)
		req.Tasks = []provider.NewTask{newTask(1)}
		req.Timers = []provider.Timer{{EventID: 2, Due: 1 << 60}}
		t.commit(req)
		task := t.fetchTask()
		t.steer(i.Key, provider.SteerReset, resetTo(fmt.Sprint("of ", n)))
		t.historyIs(i.Key, n, fmt.Sprint("1:of ", n))
		is(t, "the report of a task of an earlier execution", t.report(task, provider.TaskComplete).State, terminal(provider.StatusReset))
		i = t.get(i.Key)
		is(t, "messages after Reset", i.InboxMessages, 0)
	}
	t.historyIs(i.Key, 1, "1:started")
}
