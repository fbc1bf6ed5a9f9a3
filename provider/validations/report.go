package validations

import "github.com/perdure/perdure/provider"

func reportCases() []testCase {
	const complete = "Complete removes the task and puts Message into the inbox of its instance, if the " +
		"execution still runs. Otherwise it only removes the task and returns the state."
	const retry = "Retry raises Attempt, stores Failure and Details, resets Deliveries and queues the task after Delay."
	const park = "Park ends the lease and never delivers the task again. It keeps the token as completion token, for a later completion, retry or renewal."
	const lost = "An item whose token does not hold the task gets the error ErrLeaseLost. So does a repeat of an item that was stored before."
	const discard = "Discard removes the task if its execution is still not Running, and otherwise releases it."
	const stale = "Stale reads may only err towards Running: Terminal and Missing come from a read that includes every acknowledged commit."
	return []testCase{
		{name: "complete", run: reportComplete, rule: complete},
		{name: "complete-suspended", run: reportSuspended, rule: complete},
		{name: "complete-after-end", run: reportEnded, rule: complete},
		{name: "retry", run: reportRetry, rule: retry},
		{name: "retry-delay", run: reportRetryDelay, rule: "TaskReport.Delay: Retry, Release and ReleaseAll"},
		{name: "park", run: reportPark, rule: park},
		{name: "park-then-retry", run: reportParkRetry, rule: park},
		{
			name: "release-all", run: reportReleaseAll,
			rule: "ReleaseAll releases all tasks that its Token holds, whatever their Attempt.",
		},
		{name: "release-fetch", run: reportReleaseFetch, rule: "The Token of a fetch holds all tasks that the fetch has leased."},
		{name: "release", run: reportRelease, rule: "Release queues the task after Delay and lowers Deliveries again."},
		{name: "discard-running", run: reportDiscard, rule: discard},
		{name: "poison", run: reportPoison, rule: "Poison is Complete that also leaves a copy in the dead letters."},
		{name: "wrong-token", run: reportWrongToken, rule: lost},
		{
			name: "token-of-each", run: reportTokenOfEach, broad: true,
			rule: "The lease token of each task is [TaskToken] of the request's Token and the task.",
		},
		{name: "token-of-the-fetch", run: reportTokenOfFetch, rule: "The request's Token is itself the lease token of no task."},
		{name: "wrong-attempt", run: reportWrongAttempt, rule: lost},
		{name: "repeat", run: reportRepeat, rule: lost},
		{name: "each-for-itself", run: reportEach, rule: "ReportTasks ends or changes leases of tasks. Each item is atomic and independent of the others."},
		{name: "missing", run: reportMissing, rule: stale},
		{name: "racing-reports", run: reportRace, rule: lost},
		{name: "after-replacement", run: reportReplaced, rule: "An instance has an ID chosen by a caller and a Key that is never reused."},
	}
}

func reportComplete(t *trial) {
	i := t.beginTasks(newTask(4))
	res := t.report(t.fetchTask(), provider.TaskComplete)
	t.checkf(res.Err == nil && res.State.Kind == provider.ExecutionRunning, "got %+v, want Running and no error", res)
	t.tasksAre(i.Key, "")
	u := t.fetchOne(named("i"))
	t.mustf(len(u.Messages) == 1, "%d messages, want 1", len(u.Messages))
	m := u.Messages[0]
	t.checkf(string(m.Payload) == "result" && m.EventID == 4 && m.Execution == 1 && m.Kind == 7 && !m.Timer,
		"message %+v, want the result for event 4 of execution 1", m)
}

func reportSuspended(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.steer(i.Key, provider.SteerSuspend)
	res := t.report(task, provider.TaskComplete)
	t.checkf(res.Err == nil && res.State.Kind == provider.ExecutionRunning, "got %+v, want Running and no error", res)
	is(t, "messages after the completion", t.get(i.Key).InboxMessages, 1)
}

func reportEnded(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.end(i)
	res := t.report(task, provider.TaskComplete)
	t.checkf(res.State == terminal(provider.StatusCompleted), "got %+v, want Terminal with status Completed", res)
	t.checkf(t.get(i.Key).InboxMessages == 0 && len(t.letters()) == 0, "the result reached an ended instance or the dead letters")
}

func reportRetry(t *trial) {
	t.beginTasks(newTask(1))
	t.fetchTask(brieflyTask)
	task := t.fetchTask() // the second delivery
	t.ok(t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Failure, r.Details = []byte("boom"), []byte("half") }).Err)
	again := t.fetchTask()
	t.checkf(again.Attempt == 2 && again.Deliveries == 1, "attempt %d, deliveries %d, want 2 and 1", again.Attempt, again.Deliveries)
	t.checkf(string(again.Failure) == "boom" && string(again.Details) == "half", "failure %q, details %q, want boom and half", again.Failure, again.Details)
}

func reportRetryDelay(t *trial) {
	t.beginTasks(newTask(1))
	t.ok(t.report(t.fetchTask(), provider.TaskRetry, func(r *provider.TaskReport) { r.Delay = long }).Err)
	is(t, "tasks before the Delay of a retry", len(t.fetchTasks()), 0)
}

func reportPark(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask(brieflyTask)
	t.ok(t.report(task, provider.TaskPark).Err)
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = 2 * short })
	is(t, "parked tasks fetched", len(list), 0)
	t.ok(t.renew(provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token, Details: []byte("d")}).Err)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.checkf(len(res.Tasks) == 1 && res.Tasks[0].State == provider.TaskParked && string(res.Tasks[0].Details) == "d",
		"tasks %+v, want one parked with details d", res.Tasks)
	t.ok(t.report(task, provider.TaskComplete).Err)
	is(t, "messages after the completion by token", t.get(i.Key).InboxMessages, 1)
}

func reportParkRetry(t *trial) {
	t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.ok(t.report(task, provider.TaskPark).Err)
	t.ok(t.report(task, provider.TaskRetry).Err)
	again := t.fetchTask()
	t.checkf(again.Attempt == 2, "attempt %d, want 2", again.Attempt)
	t.want(t.report(task, provider.TaskComplete).Err, provider.ErrLeaseLost)
}

func reportRelease(t *trial) {
	t.beginTasks(newTask(1))
	t.ok(t.report(t.fetchTask(), provider.TaskRelease).Err)
	task := t.fetchTask()
	t.checkf(task.Attempt == 1 && task.Deliveries == 1, "attempt %d, deliveries %d, want 1 and 1", task.Attempt, task.Deliveries)
	t.ok(t.report(task, provider.TaskRelease, func(r *provider.TaskReport) { r.Delay = long }).Err)
	is(t, "tasks before the Delay of a release", len(t.fetchTasks()), 0)
}

func reportDiscard(t *trial) {
	t.beginTasks(newTask(1))
	res := t.report(t.fetchTask(), provider.TaskDiscard)
	t.checkf(res.Err == nil && res.State.Kind == provider.ExecutionRunning, "got %+v, want Running and no error", res)
	t.fetchTask() // the task was not removed
}

func reportPoison(t *trial) {
	i := t.beginTasks(newTask(4))
	t.ok(t.report(t.fetchTask(), provider.TaskPoison, func(r *provider.TaskReport) { r.Reason = "poison" }).Err)
	t.tasksAre(i.Key, "")
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "result", "the inbox has %q, want \"result\"", u.payloads())
	list := t.letters()
	t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
	l := list[0]
	t.checkf(l.Task && l.Key == i.Key && l.Execution == 1 && l.EventID == 4 && l.Queue == queue && l.Name == activity,
		"letter %+v, want task 4 with its queue and name", l)
	t.checkf(l.Reason == "poison" && string(l.Payload) == "task4", "letter %+v, want the reason and the payload of the task", l)
}

func reportWrongToken(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	thief := task
	thief.token = unique()
	for outcome := provider.TaskComplete; outcome <= provider.TaskPoison; outcome++ {
		t.unchanged(i.Key, func() { t.want(t.report(thief, outcome).Err, provider.ErrLeaseLost) })
	}
	t.ok(t.report(task, provider.TaskComplete).Err)
}

// checkHoldsNothing checks that a token gives no right to a task.
func checkHoldsNothing(t *trial, task leasedTask, token provider.UUID) {
	task.token = token
	for outcome := provider.TaskComplete; outcome <= provider.TaskPoison; outcome++ {
		t.unchanged(task.Key, func() { t.want(t.report(task, outcome).Err, provider.ErrLeaseLost) })
	}
	t.unchanged(task.Key, func() { t.want(t.renew(renewal(task)).Err, provider.ErrLeaseLost) })
}

// reportTokenOfEach checks that the token of one task gives no right to the others of the same fetch, leased or parked.
func reportTokenOfEach(t *trial) {
	t.beginTasks(newTask(1), newTask(2), newTask(3))
	t.begin("other", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience })
	t.mustf(len(list) == 4, "got %d tasks, want 4", len(list))
	t.ok(t.report(list[2], provider.TaskPark).Err)
	for n, task := range list {
		for m, other := range list {
			if n != m {
				checkHoldsNothing(t, task, other.token)
			}
		}
	}
	for _, task := range list {
		t.ok(t.report(task, provider.TaskComplete).Err)
	}
}

func reportTokenOfFetch(t *trial) {
	t.beginTasks(newTask(1), newTask(2))
	fetch := unique()
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait, r.Token = patience, fetch })
	t.mustf(len(list) == 2, "got %d tasks, want 2", len(list))
	t.ok(t.report(list[1], provider.TaskPark).Err)
	for _, task := range list {
		checkHoldsNothing(t, task, fetch)
	}
}

func reportWrongAttempt(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.unchanged(i.Key, func() {
		t.want(t.report(task, provider.TaskComplete, func(r *provider.TaskReport) { r.Attempt = 2 }).Err, provider.ErrLeaseLost)
	})
}

func reportRepeat(t *trial) {
	for _, outcome := range []provider.TaskOutcome{provider.TaskRetry, provider.TaskRelease, provider.TaskComplete} {
		i := t.create("x" + unique().String())
		req := next(i)
		req.Tasks = []provider.NewTask{newTask(1)}
		t.commit(req)
		task := t.fetchTask()
		slow := func(r *provider.TaskReport) { r.Delay = long }
		t.ok(t.report(task, outcome, slow).Err)
		t.unchanged(i.Key, func() { t.want(t.report(task, outcome, slow).Err, provider.ErrLeaseLost) })
	}
}

func reportEach(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	list := t.fetchTasks()
	t.mustf(len(list) == 2, "got %d tasks, want 2", len(list))
	bad := reportOf(list[0], provider.TaskComplete)
	bad.Token = unique()
	res, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{
		Items: []provider.TaskReport{bad, reportOf(list[1], provider.TaskComplete)},
	})
	t.ok(err)
	t.mustf(len(res.Items) == 2, "%d results for two reports, want 2", len(res.Items))
	t.want(res.Items[0].Err, provider.ErrLeaseLost)
	t.ok(res.Items[1].Err)
	t.tasksAre(i.Key, "1")
}

func reportMissing(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: i.Key, Force: true})
	t.ok(err)
	res := t.report(task, provider.TaskComplete)
	t.checkf(res.State.Kind == provider.ExecutionMissing, "got %+v, want state Missing", res)
}

func reportRace(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.parallel(8, func(int) {
		if err := t.report(task, provider.TaskComplete).Err; err != nil {
			t.want(err, provider.ErrLeaseLost)
		}
	})
	t.checkf(t.get(i.Key).InboxMessages == 1, "%d results in the inbox, want 1", t.get(i.Key).InboxMessages)
}

func reportReplaced(t *trial) {
	old := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.end(old)
	i := t.create("i", replace)
	req := next(i)
	req.Tasks = []provider.NewTask{newTask(1)}
	t.commit(req)
	t.unchanged(i.Key, func() {
		res := t.report(task, provider.TaskComplete)
		t.checkf(res.State == terminal(provider.StatusCompleted), "got %+v, want Terminal with status Completed", res)
	})
}

func reportReleaseAll(t *trial) {
	task, token := handedOff()
	other := newTask(2)
	other.Lease = task.Lease
	t.beginTasks(task, other)
	checkReleasesBoth(t, token)
}

func reportReleaseFetch(t *trial) {
	t.beginTasks(newTask(4), newTask(5))
	fetch := unique()
	lost := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait, r.Token = patience, fetch })
	t.mustf(len(lost) == 2, "got %d tasks, want 2", len(lost))
	checkReleasesBoth(t, fetch)
}

// checkReleasesBoth releases the two tasks that a token holds.
func checkReleasesBoth(t *trial, token provider.UUID) {
	unknown := provider.TaskReport{Token: token, Outcome: provider.TaskReleaseAll}
	for range 2 { // a repeat changes nothing
		res, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{unknown}})
		t.ok(err)
		t.mustf(len(res.Items) == 1 && res.Items[0].Err == nil, "the release returned %+v, want one result without an error", res.Items)
	}
	again := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience })
	t.mustf(len(again) == 2, "got %d tasks, want the 2 that were released", len(again))
	for _, task := range again {
		t.checkf(task.Deliveries == 1 && task.Attempt == 1, "delivery %d of attempt %d, want 1 of 1 without the lost one", task.Deliveries, task.Attempt)
	}
}
