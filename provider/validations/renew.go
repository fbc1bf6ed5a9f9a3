package validations

import "github.com/perdure/perdure/provider"

func renewCases() []testCase {
	const precedence = "Missing comes before Terminal, Terminal before ErrLeaseLost, and ErrLeaseLost before Running."
	const extended = "Each item returns the ExecutionState, whether cancellation was requested, and the lease. A " +
		"lease is extended only while the execution is Running; Suspended counts as Running."
	return []testCase{
		{name: "extends", run: renewExtends, rule: extended},
		{name: "suspended", run: renewSuspended, rule: "TaskRenewalResult.Paused: the instance is Suspended"},
		{name: "terminal", run: renewTerminal, rule: precedence},
		{name: "missing", run: renewMissing, rule: precedence},
		{name: "unknown-execution", run: renewUnknownExecution, rule: precedence},
		{name: "lost", run: renewLost, rule: precedence},
		{name: "details", run: renewDetails, rule: "Nil Details keep the stored ones."},
		{name: "batch", run: renewBatch, rule: "One bad token never fails the batch."},
		{
			name: "delivery-stays", run: renewDelivery,
			rule: "RenewTasks extends leases of tasks and stores heartbeat details. Its items are independent of each other.",
		},
	}
}

func renewExtends(t *trial) {
	t.beginTasks(newTask(1))
	task := t.fetchTask(brieflyTask)
	res := t.renew(renewal(task))
	t.checkf(res.Err == nil && res.LeaseUntil > task.LeaseUntil && !res.CancelRequested && !res.Paused,
		"got %+v, want a later LeaseUntil, not cancelled, not paused", res)
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = 2 * short })
	is(t, "tasks fetched while the lease is renewed", len(list), 0)
}

func renewSuspended(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.steer(i.Key, provider.SteerSuspend)
	res := t.renew(renewal(task))
	t.checkf(res.Err == nil && res.State.Kind == provider.ExecutionRunning && res.Paused && res.LeaseUntil > 0,
		"got %+v, want Running, Paused and a LeaseUntil", res)
}

func renewTerminal(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.steer(i.Key, provider.SteerTerminate)
	want := terminal(provider.StatusTerminated)
	res := t.renew(renewal(task))
	t.checkf(res.State == want && res.Err == nil, "got %+v, want the terminal state and no error", res)
	task.token = unique()
	res = t.renew(renewal(task))
	t.checkf(res.State == want && res.Err == nil, "got %+v under a wrong token, want the terminal state and no error", res)
}

func renewMissing(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: i.Key, Force: true})
	t.ok(err)
	res := t.renew(renewal(task))
	t.checkf(res.State.Kind == provider.ExecutionMissing && res.Err == nil, "got %+v, want state Missing and no error", res)
}

func renewUnknownExecution(t *trial) {
	t.beginTasks(newTask(1))
	task := t.fetchTask()
	task.Execution = 7
	res := t.renew(renewal(task))
	t.checkf(res.State.Kind == provider.ExecutionMissing, "got %+v, want state Missing", res)
}

func renewLost(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	thief := task
	thief.token = unique()
	t.unchanged(i.Key, func() {
		res := t.renew(renewal(thief))
		t.want(res.Err, provider.ErrLeaseLost)
		t.checkf(res.State.Kind == provider.ExecutionRunning, "got %+v, want state Running", res)
	})
	t.ok(t.report(task, provider.TaskComplete).Err)
	t.want(t.renew(renewal(task)).Err, provider.ErrLeaseLost)
}

func renewDetails(t *trial) {
	i := t.beginTasks(newTask(1))
	item := renewal(t.fetchTask())
	item.Details = []byte("half")
	t.ok(t.renew(item).Err)
	item.Details = nil
	t.ok(t.renew(item).Err)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.checkf(len(res.Tasks) == 1 && string(res.Tasks[0].Details) == "half", "tasks %+v, want details half", res.Tasks)
}

func renewBatch(t *trial) {
	t.beginTasks(newTask(1), newTask(2), newTask(3))
	list := t.fetchTasks(brieflyTask)
	t.mustf(len(list) == 3, "got %d tasks, want 3", len(list))
	list[1].token = unique()
	res := renewAll(t, renewal(list[0]), renewal(list[1]), renewal(list[2]))
	t.ok(res[0].Err)
	t.want(res[1].Err, provider.ErrLeaseLost)
	t.ok(res[2].Err)
	task := t.fetchTask() // the task whose lease was not renewed
	is(t, "the task fetched", task.TaskRef, list[1].TaskRef)
}

func renewDelivery(t *trial) {
	i := t.beginTasks(newTask(1))
	t.ok(t.renew(renewal(t.fetchTask())).Err)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.checkf(len(res.Tasks) == 1 && res.Tasks[0].Attempt == 1 && res.Tasks[0].Deliveries == 1,
		"tasks %+v, want one on its first attempt and delivery", res.Tasks)
}
