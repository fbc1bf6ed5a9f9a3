package validations

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// settledLater checks what the random model found in a provider that all other cases passed, and what no sentence said before.
func settledLater() []testCase {
	const order = "After its next commit it counts from its ReadyAt again."
	return append([]testCase{
		{name: "order-after-an-expired-lease", run: settledExpiredOrder, rule: order},
		{name: "not-before", run: settledNotBefore, rule: "TaskInfo.NotBefore: without a delay, the moment at which it was queued"},
		{
			name: "release-all-with-details", run: settledAllDetails,
			rule: "Details replace the stored heartbeat details of each task that the item concerns, also with ReleaseAll.",
		},
		{
			name: "order-of-a-termination", run: settledTerminationOrder,
			rule: "Notices come first, then the message of the Listener, ParentNotice and ChildNotice.",
		},
		{
			name: "released-hand-off", run: settledHandOff,
			rule: "A task that was handed off has begun, unless it is released without Begun.",
		},
		{
			name: "parked-task-and-its-token", run: settledParkedToken,
			rule: "Release, ReleaseAll, Park and Discard leave a parked task alone. Its item gets ErrLeaseLost, except that of ReleaseAll.",
		},
		{
			name: "reason-of-a-letter", run: settledReason,
			rule: "Without CloseInbox, and for those of Terminate, it is a text of the provider that is not empty.",
		},
		{
			name: "replaced-for-good", run: settledReplaced,
			rule: "Filter.Replaced: also instances that another one has replaced, even if that one is deleted",
		},
		{
			name: "lease-overtaken-within-a-commit", run: settledOvertakenWithin,
			rule: "A timer of a commit ends it, too, if it is a claim ahead after what the commit consumes.",
		},
		{
			name: "lease-overtaken-by-a-refusal", run: settledOvertakenByRefusal,
			rule: "A far timer of a commit makes a claim ahead, which a message of the same commit ends.",
		},
		{
			name: "lease-outlives-timers", run: settledOutlivesTimers,
			rule: "Next removes the timers first, so that its Message ends no claim that they made.",
		},
		{name: "replaced-before-expected", run: settledReplacedFirst, rule: "This comes before ErrConflict."},
		{name: "redriven-message", run: settledRedrivenMessage, rule: "A redriven message is visible at once."},
	}, needs(lacking[provider.TaskSteerer], []testCase{{
		name: "steered-expired-lease", run: settledSteered,
		rule: "A task whose lease has expired is queued: it keeps its attempt and deliveries, but not its token. " +
			"If its NotBefore has come, Retry leaves it that and its rank.",
	}})...)
}

// settledExpiredOrder commits without naming an expired lease, and leaves a message that was visible before the lease expired.
func settledExpiredOrder(t *trial) {
	held, free := t.begin("held"), t.begin("free")
	t.send(held.Key, text("one"))
	t.send(held.Key, text("two"))
	u := t.fetchOne(named("held"), briefly, func(r *provider.FetchTurnsRequest) { r.MaxMessages = 1 })
	t.pass(blink)
	t.send(free.Key, text("later"))
	t.pass(2 * short)
	req := commitOf(u)
	req.Lease = provider.UUID{}
	t.commit(req)
	list := t.fetch(func(r *provider.FetchTurnsRequest) {
		r.Capabilities = []provider.Capability{{Name: "setup-free", CodeVersion: codeVersion}, {Name: "setup-held", CodeVersion: codeVersion}}
	})
	t.mustf(len(list) == 2, "got %d turns, want 2", len(list))
	t.checkf(list[0].Instance.ID == "held", "got %s first, want held, whose message was visible earlier", list[0].Instance.ID)
}

// settledOvertakenWithin commits without the lease, and leaves a message that is visible later. A new timer is due before or after it.
func settledOvertakenWithin(t *trial) {
	for what, due := range map[string]time.Duration{"before": 5 * long, "after": 15 * long} {
		i := t.begin(what)
		later := text("later")
		later.Delay = 10 * long
		t.send(i.Key, later)
		t.send(i.Key, text("m"))
		u := t.fetchOne(named(what))
		req := next(u.Instance) // without the lease
		req.Consumed = commitOf(u).Consumed
		req.Timers = []provider.Timer{{EventID: 5, Due: i.CreatedAt.Add(due)}}
		t.commit(req)
		err := t.release(u)
		t.checkf((err == nil) == (what == "after"), "a timer due %s the message that is left: the release of the lease returned %v", what, err)
	}
}

// farTimer makes a commit without the lease that it returns the holder of. The commit leaves a timer that is due much later.
func farTimer(t *trial, id string) (turn, provider.CommitTurnRequest) {
	i := t.begin(id)
	t.send(i.Key, text("m"))
	u := t.fetchOne(named(id))
	req := next(u.Instance)
	req.Consumed = commitOf(u).Consumed
	req.Timers = []provider.Timer{{EventID: 5, Due: i.CreatedAt.Add(10 * long)}}
	return u, req
}

func settledOvertakenByRefusal(t *trial) {
	u, req := farTimer(t, "i")
	refused := text("refused")
	req.Sends = []provider.OutMessage{{ID: "nobody", Message: text("m"), Refused: &refused}}
	t.commit(req)
	again := t.fetch(named("i"), func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" })
	t.checkf(len(again) == 1, "got %d turns for another owner, want 1: the refusal came before the timer, so that it ended the lease", len(again))
	t.want(t.release(u), provider.ErrLeaseLost)
}

func settledOutlivesTimers(t *trial) {
	u, req := farTimer(t, "i")
	m := text("begin")
	req.Next = &provider.NextExecution{CodeVersion: codeVersion, Events: [][]byte{[]byte("again")}, Message: &m}
	t.commit(req)
	t.noTurn("the lease holds the instance: the timer went before the message came", named("i"))
	t.ok(t.release(u))
}

func settledNotBefore(t *trial) {
	delayed := newTask(2)
	delayed.NotBefore = long
	i := t.beginTasks(newTask(1), delayed)
	shown := func() [2]provider.TaskInfo {
		res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
		t.ok(err)
		t.mustf(len(res.Tasks) == 2, "%d tasks, want 2", len(res.Tasks))
		return [2]provider.TaskInfo(res.Tasks)
	}
	list := shown()
	is(t, "NotBefore of a new task without a delay", list[0].NotBefore, list[0].ScheduledAt)
	is(t, "NotBefore of a new task with a delay", list[1].NotBefore, list[1].ScheduledAt.Add(long))
	task := t.fetchTask()
	is(t, "NotBefore of the task, leased", shown()[0].NotBefore, list[0].ScheduledAt)
	at := reportAt(t, task, provider.TaskRetry)
	is(t, "NotBefore of the task, retried", shown()[0].NotBefore, at)
	at = reportAt(t, t.fetchTask(), provider.TaskRelease)
	is(t, "NotBefore of the task, released", shown()[0].NotBefore, at)
}

// reportAt reports on a task and returns the time of the report.
func reportAt(t *trial, task leasedTask, outcome provider.TaskOutcome) provider.Time {
	res, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{reportOf(task, outcome)}})
	t.ok(err)
	t.mustf(len(res.Items) == 1 && res.Items[0].Err == nil, "the report returned %+v, want one result without an error", res.Items)
	return res.Now
}

func settledAllDetails(t *trial) {
	t.beginTasks(tasksOf(3)...)
	for _, task := range t.fetchTasks() {
		t.ok(t.report(task, provider.TaskRelease, func(r *provider.TaskReport) { r.Details = []byte(fmt.Sprint("own", task.EventID)) }).Err)
	}
	for _, details := range []string{"", "all"} {
		req := fetchTasksRequest()
		_, err := t.FetchTasks(t.ctx, req)
		t.ok(err)
		item := provider.TaskReport{Token: req.Token, Outcome: provider.TaskReleaseAll}
		if details != "" {
			item.Details = []byte(details)
		}
		_, err = t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
		t.ok(err)
		list := t.fetchTasks()
		t.mustf(len(list) == 3, "got %d tasks after the release, want 3", len(list))
		for _, task := range list {
			want := cmp.Or(details, fmt.Sprint("own", task.EventID))
			is(t, fmt.Sprint("the details of task ", task.EventID), string(task.Details), want)
			t.ok(t.report(task, provider.TaskRelease).Err)
		}
	}
}

// settledTerminationOrder terminates an instance whose parent is also its listener and gets a notice, as does its child.
func settledTerminationOrder(t *trial) {
	parent := t.begin("parent")
	i := t.create("i", under(parent), heardBy(parent.Key, "to listener"))
	child := t.create("child", under(i), func(r *provider.CreateRequest) { r.Name, r.Parent.Close = "setup-child", provider.CloseCancel })
	t.steer(i.Key, provider.SteerTerminate, notices, func(r *provider.SteerRequest) {
		r.Notices = []provider.OutMessage{{Key: child.Key, Message: text("notice")}, {Key: parent.Key, Message: text("notice")}}
	})
	is(t, "the messages to the parent", t.fetchOne(named("parent")).payloads(), "notice to listener to parent")
	is(t, "the messages to the child", t.fetchOne(named("child")).payloads(), "start notice to child")
}

func settledHandOff(t *trial) {
	for _, begun := range []bool{false, true} {
		task, token := handedOff()
		task.StartBy = short
		i := t.begin(fmt.Sprint(begun), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
		leased := leasedTask{provider.LeasedTask{TaskRef: ref(i, 1), Attempt: 1}, token}
		t.ok(t.report(leased, provider.TaskRelease, func(r *provider.TaskReport) { r.Begun = begun }).Err)
		t.pass(2 * short)
		got := t.fetchTask(expired)
		t.checkf(got.PastDeadline != begun, "released with Begun %v: past its time %v, want %v", begun, got.PastDeadline, !begun)
	}
}

func settledParkedToken(t *trial) {
	outcomes := map[string]provider.TaskOutcome{"Release": provider.TaskRelease, "Park": provider.TaskPark, "Discard": provider.TaskDiscard}
	i := t.beginTasks(newTask(1))
	req := fetchTasksRequest()
	res, err := t.FetchTasks(t.ctx, req)
	t.ok(err)
	t.mustf(len(res.Tasks) == 1, "got %d tasks, want 1", len(res.Tasks))
	task := leasedTask{res.Tasks[0], provider.TaskToken(req.Token, res.Tasks[0].TaskRef)}
	t.ok(t.report(task, provider.TaskPark).Err)
	for what, outcome := range outcomes {
		t.unchanged(i.Key, func() {
			got := t.report(task, outcome, func(r *provider.TaskReport) { r.Details = []byte("lost") })
			t.checkf(errors.Is(got.Err, provider.ErrLeaseLost), "%s of a parked task returned %v, want ErrLeaseLost", what, got.Err)
		})
	}
	for what, token := range map[string]provider.UUID{"its token": task.token, "the token of its fetch": req.Token} {
		t.unchanged(i.Key, func() {
			item := provider.TaskReport{Token: token, Outcome: provider.TaskReleaseAll, Details: []byte("lost")}
			all, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
			t.ok(err)
			t.checkf(len(all.Items) == 1 && all.Items[0].Err == nil, "ReleaseAll by %s returned %+v, want no error", what, all.Items)
		})
	}
	t.ok(t.report(task, provider.TaskComplete).Err)
}

func settledReason(t *trial) {
	i := t.begin("terminated")
	t.send(i.Key, text("m"))
	refused := text("refused")
	t.steer(i.Key, provider.SteerTerminate, func(r *provider.SteerRequest) {
		r.Notices = []provider.OutMessage{{ID: "nobody", Message: text("m"), Refused: &refused}}
	})
	i = t.begin("closed")
	req := next(i)
	req.Status = provider.StatusCompleted
	req.Sends = []provider.OutMessage{{ID: "nobody", Message: text("m"), Refused: &refused}}
	start := startOf(i, "closed")
	start.Refused = refused
	req.Starts = []provider.Start{start}
	t.commit(req)
	list := t.letters()
	is(t, "the dead letters", len(list), 4)
	for _, l := range list {
		t.checkf(l.Reason != "", "the letter %q of %s has no reason, want some", l.Payload, l.InstanceID)
	}
}

// settledReplaced deletes the successor of an instance. Its ID is then free.
func settledReplaced(t *trial) {
	old := t.end(t.begin("i"))
	now := t.create("i", replace)
	t.remove(now.Key, true)
	checkList(t, provider.Filter{}, "")
	checkList(t, provider.Filter{Replaced: true}, "i")
	for replaced, want := range map[bool]int64{false: 0, true: 1} {
		res, err := t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{IDPrefix: "i", Replaced: replaced}})
		t.ok(err)
		is(t, fmt.Sprint("instances with Replaced ", replaced), res.Count, want)
	}
	_, err := t.Get(t.ctx, provider.GetRequest{ID: "i"})
	t.want(err, provider.ErrNotFound)
	is(t, "the status of the replaced instance", t.get(old.Key).Status, provider.StatusCompleted)
	again := t.create("i")
	is(t, "the key under the ID", t.byID("i").Key, again.Key)
	checkList(t, provider.Filter{}, "i")
}

// settledReplacedFirst resets a replaced instance under a Version that it does not have.
func settledReplacedFirst(t *trial) {
	old := t.end(t.begin("i"))
	now := t.create("i", replace)
	reset := func() error {
		_, err := t.Steer(t.ctx, provider.SteerRequest{Key: old.Key, Action: provider.SteerReset, Commit: unique(), Expected: unique()})
		return err
	}
	t.unchanged(old.Key, func() { t.want(reset(), provider.ErrExists) })
	t.remove(now.Key, true)
	t.unchanged(old.Key, func() { t.want(reset(), provider.ErrEnded) })
}

func settledRedrivenMessage(t *trial) {
	i := t.begin("i")
	delayed := text("delayed")
	delayed.Delay = long
	t.send(i.Key, delayed)
	t.send(i.Key, text("m"))
	t.steer(i.Key, provider.SteerTerminate)
	t.steer(i.Key, provider.SteerReset)
	t.commit(next(t.get(i.Key))) // it is ready no more
	list := t.letters()
	t.mustf(len(list) == 2, "%d dead letters, want 2", len(list))
	is(t, "letters redriven", actOnLetters(t, provider.DeadLettersRedrive, list[1].ID, list[0].ID), 2)
	u := t.fetchOne(named("i"))
	t.mustf(len(u.Messages) == 2, "%d messages visible, want 2", len(u.Messages))
	is(t, "the messages in the order of the redrive", u.payloads(), "delayed m")
}

// settledSteered retries and holds tasks whose lease has expired.
func settledSteered(t *trial) {
	i := t.beginTasks(tasksOf(3)...)
	leased := t.fetchTasks(brieflyTask)
	t.mustf(len(leased) == 3, "got %d tasks, want 3", len(leased))
	t.pass(2 * short)
	shown := func() []provider.TaskInfo {
		res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
		t.ok(err)
		t.mustf(len(res.Tasks) == 3, "%d tasks, want 3", len(res.Tasks))
		return res.Tasks
	}
	before := shown()
	is(t, "the attempt after Retry", t.act(leased[1].TaskRef, 1, provider.SteerTaskRetry), 1)
	is(t, "the attempt after Hold", t.act(leased[2].TaskRef, 1, provider.SteerTaskHold), 1)
	for n, task := range shown() {
		t.checkf(task.Attempt == 1 && task.Deliveries == 1, "task %+v, want attempt 1 and one delivery", task)
		t.checkf(task.NotBefore == before[n].NotBefore || n == 2 && task.NotBefore == provider.HeldUntil,
			"NotBefore of task %d: got %d, want %d", task.EventID, task.NotBefore, before[n].NotBefore)
	}
	t.ok(t.report(leased[0], provider.TaskRelease).Err) // it still has its token
	t.want(t.report(leased[1], provider.TaskRelease).Err, provider.ErrLeaseLost)
	t.want(t.report(leased[2], provider.TaskRelease).Err, provider.ErrLeaseLost)
	is(t, "the tasks", events(t.fetchTasks()), "2 1")
	handed, _ := handedOff()
	handed.NotBefore, handed.Lease.Duration = long, short
	i = t.begin("delayed", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{handed} })
	t.pass(2 * short)
	is(t, "the attempt of a hand-off after Retry", t.act(ref(i, 1), 1, provider.SteerTaskRetry), 1)
	is(t, "the hand-off, although its delay is not over", t.fetchTask().Key, i.Key)
}
