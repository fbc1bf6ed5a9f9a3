package relational

import "github.com/perdure/perdure/provider"

// reportCases are about ReportTasks.
func reportCases() []ruleCase {
	result := func(r *taskReport) { r.Message = msg("out") }
	delayed := func(r *taskReport) { r.Delay = us(200) }
	const (
		told   = "StoreHead i: ReadyAt=1000 Inbox=1 InboxBytes=3 NextMessage=6"
		queued = "StoreTask i/1/3: State=queued Deliveries=0 Token= Owner= LeaseUntil=0"
	)
	complete := reports(provider.TaskComplete, result)
	cases := []ruleCase{
		does("complete", taskGiven(leased), complete,
			"RemoveTask i/1/3", "PutMessage i: 5 at 1000 out", told).returns("running").tells("turns f:1:1, freed q:a:3"),
		does("complete in a session", taskGiven(leased, inSession), complete, "UseSession s", "RemoveTask i/1/3", "PutMessage i: 5 at 1000 out", told),
		does("complete what is parked", taskGiven(parked), complete, "RemoveTask i/1/3", "PutMessage i: 5 at 1000 out", told).tells("turns f:1:1"),
		does("complete for a suspended instance", and(taskGiven(expired), changedTo(suspended)), complete,
			"RemoveTask i/1/3", "PutMessage i: 5 at 1000 out", told).returns("running"),
		does("no task is stored", nil, complete).returns("running, lease lost"),
		does("another token holds it", taskGiven(leased, func(task *Task) { task.Token = u("t9") }), complete).returns("running, lease lost"),
		does("another attempt is pending", taskGiven(leased, func(task *Task) { task.Attempt = 2 }), complete).returns("running, lease lost"),
		does("one of two is lost", taskGiven(leased), reportsAll(
			taskReport{TaskRef: ref("i", 4), Token: u("t"), Attempt: 1, Outcome: provider.TaskComplete},
			taskReport{TaskRef: ref("i", 3), Token: u("t"), Attempt: 1, Outcome: provider.TaskRelease},
		),
			queued+" Begun=false NotBefore=1000 FetchAt=1000").returns("running, lease lost; running"),
		does("the instance is gone", and(taskGiven(leased), gone), complete, "RemoveTask i/1/3").returns("missing"),
		does("the instance has ended", and(taskGiven(leased), changedTo(ended)), complete, "RemoveTask i/1/3").returns("terminal Completed"),
		does("another execution is current", and(taskGiven(leased), changedTo(func(h *Head) { h.Execution = 2 }), func(r *fakeRows) {
			r.executions[executionAt{u("i"), 1}] = provider.StatusContinuedAsNew
		}), complete,
			"RemoveTask i/1/3").returns("terminal ContinuedAsNew"),
		does("the execution is not recorded", and(taskGiven(leased), changedTo(func(h *Head) { h.Execution = 2 })), complete,
			"RemoveTask i/1/3").returns("missing"),
		does("the execution has not begun", nil, reports(provider.TaskComplete, func(r *taskReport) { r.Execution = 2 })).returns("missing, lease lost"),
		does("the instance is being deleted", and(taskGiven(leased), changedTo(deleting)), complete, "RemoveTask i/1/3").returns("missing"),
		does("the instance is closed for a move", and(taskGiven(leased), sealClosed), complete).returns("missing, moved"),
		refuses("complete for an instance without a name", and(taskGiven(leased), changedTo(nameless)),
			reports(provider.TaskComplete, func(r *taskReport) { r.Message = leveled(5) }), provider.ErrInvalid,
			"RemoveTask i/1/3").late("a result is delivered behind the removal of its task"),

		does("retry", taskGiven(leased), reports(provider.TaskRetry, delayed, func(r *taskReport) { r.Failure, r.Details = []byte("bad"), []byte("d") }),
			"StoreTask i/1/3: State=queued Attempt=2 Deliveries=0 Token= Owner= LeaseUntil=0 NotBefore=1200 FetchAt=1200 Failure=bad details=d").
			tells("freed q:a:3, due 1200"),
		does("retry what is cancelled, without the delay", taskGiven(leased, cancelled), reports(provider.TaskRetry, delayed),
			"StoreTask i/1/3: State=queued Attempt=2 Deliveries=0 Token= Owner= LeaseUntil=0 NotBefore=1000 FetchAt=1000 Failure="),
		does("retry for a suspended instance", and(taskGiven(leased), changedTo(suspended)), reports(provider.TaskRetry),
			"StoreTask i/1/3: State=queued Attempt=2 Deliveries=0 Token= Owner= LeaseUntil=0 NotBefore=1000 Failure=").tells("freed q:a:3"),
		does("retry what is past its deadline", taskGiven(leased, func(task *Task) { task.Deadline = 900 }), reports(provider.TaskRetry),
			"StoreTask i/1/3: State=queued Attempt=2 Deliveries=0 Token= Owner= LeaseUntil=0 NotBefore=1000 FetchAt=1000 ExpireAt=900 Failure=").
			tells("tasks q:a:3, freed q:a:3, expired"),
		does("park", taskGiven(leased), reports(provider.TaskPark), "StoreTask i/1/3: State=parked Owner= LeaseUntil=0").tells("freed q:a:3"),
		does("park with a limit and a deadline", taskGiven(leased, func(task *Task) { task.Deadline = 2000 }),
			reports(provider.TaskPark, func(r *taskReport) { r.Limit = us(300) }),
			"StoreTask i/1/3: State=parked Owner= LeaseUntil=0 Begun=false StartBy=1300 ExpireAt=1300").tells("freed q:a:3, due 1300"),
		does("park what is parked", taskGiven(parked), reports(provider.TaskPark)).returns("running, lease lost"),
		does("release", taskGiven(leased), reports(provider.TaskRelease),
			queued+" Begun=false NotBefore=1000 FetchAt=1000").tells("tasks q:a:3, freed q:a:3"),
		does("release after code ran", taskGiven(leased, func(task *Task) { task.StartBy = 1500 }),
			reports(provider.TaskRelease, delayed, func(r *taskReport) { r.Begun = true }),
			queued+" NotBefore=1200 StartBy=0 FetchAt=1200"),
		does("release a second delivery", taskGiven(leased, func(task *Task) { task.Deliveries = 2 }), reports(provider.TaskRelease),
			"StoreTask i/1/3: State=queued Deliveries=1 Token= Owner= LeaseUntil=0 NotBefore=1000 FetchAt=1000"),
		does("release a ranked task", taskGiven(leased, func(task *Task) { task.Rank = 7000 }), reports(provider.TaskRelease),
			queued+" Begun=false NotBefore=1000 FetchAt=7000"),
		does("release what is parked", taskGiven(parked), reports(provider.TaskRelease)).returns("running, lease lost"),
		does("discard while the execution runs", taskGiven(leased), reports(provider.TaskDiscard), queued+" Begun=false NotBefore=1000 FetchAt=1000"),
		does("discard after the end", and(taskGiven(leased), changedTo(ended)), reports(provider.TaskDiscard), "RemoveTask i/1/3"),
		does("poison", taskGiven(leased), reports(provider.TaskPoison, result, func(r *taskReport) { r.Reason = "why" }),
			`DeadLetterTask i/1/3: of "i", why`, "RemoveTask i/1/3", "PutMessage i: 5 at 1000 out", told),
		does("poison of what is gone", and(taskGiven(leased), gone), reports(provider.TaskPoison, func(r *taskReport) { r.Reason = "why" }),
			`DeadLetterTask i/1/3: of "", why`, "RemoveTask i/1/3"),
		does("release all of a token, after code ran", and(taskGiven(leased), gone), reports(provider.TaskReleaseAll, func(r *taskReport) { r.Begun = true }),
			queued+" NotBefore=1000 FetchAt=1000").tells("tasks q:a:3, freed q:a:3"),
	}
	fetched := u("f")
	return append(cases, does("release all of a fetch", func(r *fakeRows) {
		of := func(task *Task) { task.Token = provider.TaskToken(fetched, task.TaskRef) }
		r.task("i", 3, leased, of, inSession)
		r.task("i", 4, expired, of)
		r.task("i", 5, parked, of)
		r.task("i", 6, leased)
	}, reports(provider.TaskReleaseAll, func(r *taskReport) { r.Token, r.Details = fetched, []byte("d") }),
		"UseSession s", queued+" Begun=false NotBefore=1000 FetchAt=1000 details=d").tells("tasks q:a:3, freed q:a:3"))
}

// renewCases are about RenewTasks.
func renewCases() []ruleCase {
	ownerToo := func(r *renewReq) { r.Owner, r.SessionLease = "o", us(300) }
	const renewed = "StoreTask i/1/3: LeaseUntil=600"
	return []ruleCase{
		does("renew", taskGiven(leased), renews(), renewed).returns("0 sessions; running until 1100").tells("lease 600"),
		does("renew with details, in a session", taskGiven(leased, inSession), renews(func(r *renewReq) { r.Items[0].Details = []byte("d") }),
			"UseSession s", renewed+" details=d"),
		does("renew after the lease has expired", taskGiven(expired, func(task *Task) { task.ExpireAt = 2000 }), renews(),
			renewed+" FetchAt=0 ExpireAt=0").returns("0 sessions; running until 1100"),
		does("renew what is parked", taskGiven(parked), renews(), "StoreTask i/1/3:").returns("0 sessions; running until 0"),
		does("renew what is cancelled, of a suspended instance", and(taskGiven(leased, cancelled), changedTo(suspended)), renews(),
			renewed).returns("0 sessions; running, cancelled, paused until 1100"),
		does("no task is stored", nil, renews()).returns("0 sessions; running, lease lost until 0"),
		does("another token holds it", taskGiven(leased, func(task *Task) { task.Token = u("t9") }), renews()).returns("0 sessions; running, lease lost until 0"),
		does("the instance is gone", and(taskGiven(leased), gone), renews()).returns("0 sessions; missing until 0"),
		does("the instance has ended", and(taskGiven(leased), changedTo(ended)), renews()).returns("0 sessions; terminal Completed until 0"),
		does("sessions are extended", and(taskGiven(leased), func(r *fakeRows) { r.held = 2 }), renews(ownerToo),
			renewed, "ExtendSessions o").returns("2 sessions; running until 1100").tells("lease 600"),
		does("sessions alone are extended", func(r *fakeRows) { r.held = 2 }, renews(ownerToo, func(r *renewReq) { r.Items = nil }),
			"ExtendSessions o").returns("2 sessions").tells("lease 800"),
		does("no session is held", taskGiven(leased), renews(ownerToo), renewed, "ExtendSessions o: no"),
	}
}

// steerTaskCases are about SteerTask.
func steerTaskCases() []ruleCase {
	result := func(r *steerTaskReq) { r.Message = msg("out") }
	state := func(s provider.TaskState) func(*steerTaskReq) { return func(r *steerTaskReq) { r.State = s } }
	heldUntil := "253402300799000000"
	holding := func(task *Task) { task.NotBefore, task.FetchAt = provider.HeldUntil, provider.HeldUntil }
	ranked := func(task *Task) { task.Kind, task.Rank, task.FetchAt = 2, 7000, 7000 }
	const told = "StoreHead i: ReadyAt=1000 Inbox=1 InboxBytes=3 NextMessage=6"
	return []ruleCase{
		does("complete what is leased", taskGiven(leased), steersTask(provider.SteerTaskComplete, result),
			"RemoveTask i/1/3", "PutMessage i: 5 at 1000 out", told).returns("attempt 0").tells("turns f:1:1, freed q:a:3, notice i/1/3"),
		does("complete what is queued", taskGiven(), steersTask(provider.SteerTaskComplete, result, state(provider.TaskQueued)),
			"RemoveTask i/1/3", "PutMessage i: 5 at 1000 out", told).tells("turns f:1:1"),
		does("retry what is leased", taskGiven(leased), steersTask(provider.SteerTaskRetry, state(provider.TaskLeased)),
			"StoreTask i/1/3: State=queued Attempt=2 Deliveries=0 Token= Owner= LeaseUntil=0 NotBefore=1000 FetchAt=1000").
			returns("attempt 2").tells("tasks q:a:3, freed q:a:3, notice i/1/3"),
		does("retry what is parked", taskGiven(parked), steersTask(provider.SteerTaskRetry, state(provider.TaskParked)),
			"StoreTask i/1/3: State=queued Attempt=2 Deliveries=0 Token= NotBefore=1000 FetchAt=1000").tells("tasks q:a:3, notice i/1/3"),
		does("retry what is delayed", taskGiven(func(task *Task) { task.NotBefore, task.FetchAt = 3000, 3000 }), steersTask(provider.SteerTaskRetry),
			"StoreTask i/1/3: NotBefore=1000 FetchAt=1000").returns("attempt 1"),
		does("retry what may be fetched, which keeps its rank", taskGiven(ranked), steersTask(provider.SteerTaskRetry), "StoreTask i/1/3:"),
		does("retry after the lease has expired", taskGiven(expired), steersTask(provider.SteerTaskRetry, state(provider.TaskQueued)),
			"StoreTask i/1/3: State=queued Token= Owner= LeaseUntil=0 FetchAt=800").returns("attempt 1").tells("tasks q:a:3, freed q:a:3"),
		does("hold", taskGiven(), steersTask(provider.SteerTaskHold),
			"StoreTask i/1/3: NotBefore="+heldUntil+" FetchAt="+heldUntil).returns("attempt 1").tells("due " + heldUntil),
		does("hold what has a rank", taskGiven(ranked), steersTask(provider.SteerTaskHold),
			"DropRank i/1/3", "StoreTask i/1/3: NotBefore="+heldUntil+" Rank=0 FetchAt="+heldUntil),
		does("hold what is cancelled", taskGiven(leased, cancelled), steersTask(provider.SteerTaskHold),
			"StoreTask i/1/3: State=queued Attempt=2 Deliveries=0 Token= Owner= LeaseUntil=0 NotBefore=1000 FetchAt=1000"),
		does("release what is held", taskGiven(holding), steersTask(provider.SteerTaskRelease),
			"StoreTask i/1/3: NotBefore=1000 FetchAt=1000").returns("attempt 1").tells("tasks q:a:3"),
		does("release what is queued", taskGiven(), steersTask(provider.SteerTaskRelease)).returns("attempt 1"),
		does("release what is leased", taskGiven(leased), steersTask(provider.SteerTaskRelease)).returns("attempt 1"),

		refuses("no task is stored", nil, steersTask(provider.SteerTaskRetry), provider.ErrNotFound),
		refuses("the instance is gone", and(taskGiven(leased), gone), steersTask(provider.SteerTaskRetry), provider.ErrNotFound),
		refuses("the instance is being deleted", and(taskGiven(leased), changedTo(deleting)), steersTask(provider.SteerTaskRetry), provider.ErrNotFound),
		refuses("the instance has ended", and(taskGiven(leased), changedTo(ended)), steersTask(provider.SteerTaskRetry), provider.ErrNotFound),
		refuses("the instance is closed for a move", and(taskGiven(leased), sealClosed), steersTask(provider.SteerTaskRetry), provider.ErrMoved),
		does("the instance is held for a move", and(taskGiven(parked), sealHeld), steersTask(provider.SteerTaskRetry),
			"StoreTask i/1/3: State=queued Attempt=2 Deliveries=0 Token= NotBefore=1000"),
		refuses("another attempt is pending", taskGiven(func(task *Task) { task.Attempt = 2 }), steersTask(provider.SteerTaskRetry), provider.ErrConflict),
		refuses("it is in another state", taskGiven(expired), steersTask(provider.SteerTaskRetry, state(provider.TaskLeased)), provider.ErrConflict),
	}
}
