package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// edgeCases checks where two rules meet.
func edgeCases() []testCase {
	const fetchable = "A task is fetchable if it is queued or its lease has expired, its NotBefore has come, and its " +
		"instance is not Suspended. A task that is past its time is fetchable only with Expired."
	const order = "The order within the commit is: fence, completes, consumed, events, tasks, timers, sends, starts, status."
	const replaced = "A replaced instance cannot be reset: the call returns [ErrExists], or [ErrEnded] if no instance has the ID any more."
	return []testCase{
		{name: "refused-to-the-closing", run: edgeRefused, rule: "If the sender ends in this commit, the refusal goes to the dead letters."},
		{
			name: "first-reason", run: edgeReasons,
			rule: "The first reason that applies is returned",
		},
		{name: "cancelled-as-it-is-made", run: edgeCancelled, rule: order},
		{name: "task-after-its-completion", run: edgeSecondTask, rule: order},
		{name: "timer-after-its-message", run: edgeSecondTimer, rule: order},
		{name: "level-of-the-last-turn", run: edgeLevel, rule: "CommitTurn applies one turn of one instance: all of it, or nothing."},
		{name: "attribute-twice", run: edgeAttribute, rule: "CreateRequest.Attributes: of several with one name, the last one counts"},
		{name: "reset-is-ready", run: edgeReset, rule: "The next execution is ready for a turn at once, even with an empty inbox."},
		{name: "reset-replaced", run: edgeReplaced, rule: replaced},
		{name: "reset-after-its-successor", run: edgeOrphaned, rule: replaced},
		{name: "released-stickiness", run: edgeSticky, lacks: lackingSticky, rule: "A release of a lease also ends stickiness."},
		{
			name: "unstick", run: edgeUnstick, lacks: lackingSticky,
			rule: "ReleaseUnpin ends only the stickiness of its instance, if Owner has it.",
		},
		{name: "expired-turns-of-a-token", run: edgeExpiredTurns, rule: "Expired leases are not included."},
		{name: "expired-tasks-of-a-token", run: edgeExpiredTasks, rule: "Tasks whose lease has expired are not included."},
		{
			name: "released-by-token-before-it-began", run: begunNone,
			rule: "ReleaseAll releases all tasks that its Token holds, whatever their Attempt.",
		},
		{name: "order-of-one-instant", run: edgeInstant, rule: equalRanks},
		{name: "late-come-first", run: edgeLate, rule: "Tasks past their time come first, ordered by that time."},
		{
			name: "retry-without-failure", run: edgeRetry,
			rule: "Retry raises Attempt, stores Failure and Details, resets Deliveries and queues the task after Delay.",
		},
		{
			name: "parked-past-deadline", run: edgeParked,
			rule: "A parked task whose Deadline has passed still goes to a fetch with Expired, which voids the token.",
		},
		{name: "parked-suspended", run: edgeParkedSuspended, rule: fetchable},
		{name: "handed-off-before-its-time", run: edgeHandOff, rule: fetchable},
		{name: "renewed-suspended", run: edgeRenewedSuspended, rule: fetchable},
		{name: "letters-in-order", run: edgeLetters, rule: "Items are taken in the order in which they are named."},
		{name: "redriven-task", run: edgeRedriven, rule: "A redriven task begins anew, with its first attempt and without a deadline."},
		{name: "letter-stays", run: edgeLetterStays, rule: "An item that cannot go back stays and is not counted."},
		{name: "prune-passes-over", run: edgePrune, rule: "A parent with a running child stays and does not count towards Max."},
		{name: "deleted-record", run: edgeRecord, rule: "RecordResult has the record that was read, written or deleted"},
		{name: "now-of-nothing", run: edgeNow, rule: "A result has Now even if the call found nothing."},
		{
			name: "large-batches", run: edgeLarge,
			rule: "Limits that every provider enforces with ErrInvalid (names), ErrTooLarge (sizes) or ErrInboxFull, before anything is stored.",
		},
	}
}

func edgeRefused(t *trial) {
	i := t.begin("i")
	req := next(i)
	refused := text("refused")
	req.Sends = []provider.OutMessage{{ID: "nobody", Message: text("m"), Refused: &refused}, {Key: i.Key, Message: text("to itself"), Refused: &refused}}
	req.Status = provider.StatusCompleted
	t.commit(req)
	list := t.letters()
	t.mustf(len(list) == 2, "%d dead letters, want the two refusals", len(list))
	for _, l := range list {
		t.checkf(l.Key == i.Key && string(l.Payload) == "refused", "got letter %+v, want the refusal in the sender's name", l)
	}
}

func edgeReasons(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("unseen"))
	req := next(i)
	req.Status = provider.StatusCompleted
	req.Completes = []provider.TaskCompletion{{EventID: 1, Token: unique()}}
	t.refused(req, provider.ErrInboxNotEmpty)
	req.CloseInbox = "test"
	t.refused(req, provider.ErrLeaseLost)
	req.Consumed = []int64{1 << 40}
	t.refused(req, provider.ErrConflict)
	req.CloseInbox, req.Consumed, req.Expected = "", nil, unique()
	t.refused(req, provider.ErrConflict)
}

func edgeSecondTimer(t *trial) {
	timer := func(word string) []provider.Timer {
		return []provider.Timer{{EventID: 3, Due: 1, Payload: []byte(word)}}
	}
	t.begin("i", func(r *provider.CommitTurnRequest) { r.Timers = timer("first") })
	req := commitOf(t.fetchOne(named("i")))
	req.Timers = timer("second")
	t.commit(req)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "second", "got %q, want \"second\"", u.payloads())
	req = commitOf(u)
	req.Consumed, req.Timers = nil, timer("third")
	t.refused(req, provider.ErrInvalid)
}

func edgeLevel(t *trial) {
	i := t.begin("i")
	req := next(i)
	req.Status, req.EngineLevel = provider.StatusCompleted, 3
	t.commit(req)
	t.checkf(t.get(i.Key).EngineLevel == 3, "the level is %d, want 3", t.get(i.Key).EngineLevel)
}

func edgeAttribute(t *trial) {
	req := createRequest("i")
	for n := range int64(2) {
		req.Attributes = append(req.Attributes, provider.Attribute{Name: "a", Kind: provider.AttributeInt, Number: n})
	}
	res, err := t.Create(t.ctx, req)
	t.ok(err)
	stored := t.get(req.Key).Attributes
	t.checkf(len(stored) == 1 && stored[0].Number == 1, "stored attributes are %+v, want one with the last value", stored)
	is(t, "the attributes of the result", fmt.Sprint(res.Instance.Attributes), fmt.Sprint(stored))
}

func edgeReset(t *trial) {
	i := t.begin("i")
	got := t.steer(i.Key, provider.SteerReset, resetTo("one"))
	t.checkf(got.ReadyAt != 0, "ReadyAt is 0 after Reset, want a time")
	u := t.fetchOne(named("i"))
	t.checkf(u.Instance.Execution == 2 && len(u.Messages) == 0, "execution %d with messages %q, want 2 without messages", u.Instance.Execution, u.payloads())
	t.commit(commitOf(u))
	is(t, "ReadyAt after the turn of the reset", t.get(i.Key).ReadyAt, 0)
}

func edgeReplaced(t *trial) {
	old := t.end(t.begin("i"))
	i := t.create("i", replace)
	t.unchanged(old.Key, func() {
		_, err := t.Steer(t.ctx, provider.SteerRequest{Key: old.Key, Action: provider.SteerReset, Commit: unique()})
		t.want(err, provider.ErrExists)
	})
	is(t, "the key under the ID", t.byID("i").Key, i.Key)
}

func edgeOrphaned(t *trial) {
	old := t.end(t.begin("i"))
	t.remove(t.create("i", replace).Key, true)
	t.unchanged(old.Key, func() {
		_, err := t.Steer(t.ctx, provider.SteerRequest{Key: old.Key, Action: provider.SteerReset, Commit: unique()})
		t.want(err, provider.ErrEnded)
	})
}

func edgeSticky(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = node, long })
	t.send(i.Key, text("m"))
	t.ok(t.release(t.fetchOne(named("i"))))
	list := t.fetch(named("i"), func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" })
	is(t, "turns for another owner after the release", len(list), 1)
}

func edgeUnstick(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = node, long })
	t.send(i.Key, text("m"))
	unstick := func(key provider.UUID, owner string) {
		res, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseUnpin, Key: key, Owner: owner}}})
		t.ok(err)
		t.checkf(len(res.Errs) == 1 && res.Errs[0] == nil, "the release returned %v, want one nil error", res.Errs)
	}
	other := func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" }
	unstick(unique(), node)
	t.unchanged(i.Key, func() { unstick(i.Key, "node-c") })
	is(t, "turns for another owner after a release by a third", len(t.fetch(named("i"), other)), 0)
	parked := parkedFetch(t, named("i"), other)
	t.unchanged(i.Key, func() { unstick(i.Key, node) })
	u := parked()
	is(t, "turns for another owner after the release", len(u), 1)
	unstick(i.Key, node)
	unstick(i.Key, "node-b")
	t.ok(t.release(u[0]))
}

func edgeExpiredTurns(t *trial) {
	i := t.create("i")
	u := t.fetchOne(briefly)
	t.pass(2 * short)
	checkSameDeliveries(t, i.Key, func() {
		_, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseToken, Token: u.token, Delay: long}}})
		t.ok(err)
	})
	is(t, "deliveries, including the expired lease", t.fetchOne().Instance.Deliveries, 2)
}

// checkSameDeliveries checks that act does not change the Deliveries of an instance.
func checkSameDeliveries(t *trial, key provider.UUID, act func()) {
	before := t.get(key).Deliveries
	act()
	after := t.get(key).Deliveries
	is(t, "deliveries after the call", after, before)
}

func edgeLetters(t *trial) {
	leaveDeadLetters(t, 3)
	list := t.letters()
	t.mustf(len(list) == 3, "%d dead letters, want 3", len(list))
	actOnLetters(t, provider.DeadLettersRedrive, list[1].ID, list[2].ID, list[0].ID)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "m1 m2 m0", "redriven in the order %q, want \"m1 m2 m0\"", u.payloads())
}

func edgeRedriven(t *trial) {
	idle := newTask(1)
	idle.Priority = provider.PriorityLowest
	i, leased := beginLate(t, idle)
	t.ok(t.report(leased[0], provider.TaskRetry).Err)
	t.ok(t.report(t.fetchTask(expired), provider.TaskPoison, func(r *provider.TaskReport) { r.Details = []byte("half") }).Err)
	list := t.letters()
	t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
	t.pass(2 * short)
	actOnLetters(t, provider.DeadLettersRedrive, list[0].ID)
	task := t.fetchTask()
	t.checkf(task.TaskRef == ref(i, 1) && task.Attempt == 1 && task.Deliveries == 1, "redriven to %+v, want task 1 on its first attempt and delivery", task)
	t.checkf(task.Deadline == 0 && !task.PastDeadline && task.Priority == provider.PriorityLowest,
		"redriven to %+v, want no deadline and the same priority", task)
}

func edgeLetterStays(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	t.steer(i.Key, provider.SteerTerminate)
	list := t.letters()
	t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
	is(t, "letters redriven to a deleted instance", actOnLetters(t, provider.DeadLettersRedrive, list[0].ID), 0)
	is(t, "dead letters afterwards", len(t.letters()), 1)
}

func edgePrune(t *trial) {
	parent := beginFamily(t, func(*provider.Start) {})
	t.steer(parent.Key, provider.SteerTerminate)
	t.pass(short) // the next one ends later even by a clock of milliseconds
	i := t.end(t.begin("i"))
	is(t, "instances pruned", prune(t, provider.PruneRequest{Max: 1}), 1)
	t.gone(i.Key)
	t.get(parent.Key)
}

func edgeRecord(t *trial) {
	put := provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: "k", Value: []byte("v")}
	_, err := t.Record(t.ctx, put)
	t.ok(err)
	del := provider.RecordRequest{Action: provider.RecordDelete, Namespace: "n", Key: "k", Expect: 1}
	res, err := t.Record(t.ctx, del)
	t.ok(err)
	t.checkf(len(res.Records) == 1 && string(res.Records[0].Value) == "v" && res.Records[0].Version == 1,
		"got %+v, want the deleted record with its value and version", res.Records)
	del.Expect = 0
	res, err = t.Record(t.ctx, del)
	t.ok(err)
	t.checkf(len(res.Records) == 0, "got %+v after deleting a missing record, want none", res.Records)
}

func edgeNow(t *trial) {
	made := t.create("i").CreatedAt
	turns, err := t.FetchTurns(t.ctx, provider.FetchTurnsRequest{Owner: node, Token: unique(), Lease: long, Max: 1})
	t.ok(err)
	tasks, err := t.FetchTasks(t.ctx, fetchTasksRequest())
	t.ok(err)
	asks, err := t.FetchAsks(t.ctx, provider.FetchAsksRequest{Max: 1, Lease: long})
	t.ok(err)
	scan, err := t.Record(t.ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"})
	t.ok(err)
	for name, now := range map[string]provider.Time{"turns": turns.Now, "tasks": tasks.Now, "questions": asks.Now, "records": scan.Now} {
		t.checkf(now >= made, "Now of %s is %d, want at least %d", name, now, made)
	}
}

func edgeLarge(t *trial) {
	report := provider.TaskReport{
		TaskRef: provider.TaskRef{Key: unique(), Execution: 1, EventID: 1}, Token: unique(), Attempt: 1, Outcome: provider.TaskRetry,
		Failure: make([]byte, provider.MaxPayload),
	}
	reports := provider.ReportTasksRequest{}
	renewals := provider.RenewTasksRequest{Lease: long}
	for range provider.MaxCommitBytes/provider.MaxPayload + 1 {
		reports.Items = append(reports.Items, report)
		renewals.Items = append(renewals.Items, provider.TaskRenewal{TaskRef: report.TaskRef, Token: report.Token, Details: report.Failure})
	}
	_, err := t.ReportTasks(t.ctx, reports)
	t.want(err, provider.ErrTooLarge)
	_, err = t.RenewTasks(t.ctx, renewals)
	t.want(err, provider.ErrTooLarge)
}
