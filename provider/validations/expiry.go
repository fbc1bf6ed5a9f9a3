package validations

import "github.com/perdure/perdure/provider"

// Cases about tasks whose lease expired or that the orchestration cancelled.

func expiredTaskCases() []testCase {
	const cancelled = "A task that is not leased is removed."
	return []testCase{
		{name: "deliveries-of-each", run: expiredDeliveries, rule: "the Deliveries (raised by this lease)"},
		{name: "cancelled-many", run: cancelledMany, rule: cancelled},
		{name: "scheduled-and-cancelled", run: cancelledAtOnce, rule: cancelled},
		{name: "cancelled-unknown", run: cancelledUnknown, rule: "CancelTask requests the cancellation of a task of the execution."},
	}
}

func expiredRenewalCases() []testCase {
	return []testCase{
		{name: "taken-over", run: expiredRenewal, rule: "Missing comes before Terminal, Terminal before ErrLeaseLost, and ErrLeaseLost before Running."},
		{
			name: "after-its-end", run: expiredToken,
			rule: "A token holds its task until the task is leased again, also after its lease has expired.",
		},
	}
}

// expiredToken renews and reports tasks whose leases have expired, and that nobody else has fetched.
func expiredToken(t *trial) {
	t.beginTasks(newTask(1), newTask(2))
	list := t.fetchTasks(brieflyTask)
	t.mustf(len(list) == 2, "got %d tasks, want 2", len(list))
	t.pass(2 * short)
	t.ok(t.renew(renewal(list[0])).Err)
	t.ok(t.report(list[1], provider.TaskComplete).Err)
	t.noTask("one lease was renewed, and the other task completed")
}

// An expired lease is counted for its task and not for the others of the batch.
func expiredDeliveries(t *trial) {
	t.beginTasks(newTask(1))
	t.fetchTask(brieflyTask)
	other := t.begin("other", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
	t.pass(2 * short)
	list := t.fetchTasks()
	t.mustf(len(list) == 2, "got %d tasks, want 2", len(list))
	for _, task := range list {
		want := int64(2)
		if task.Key == other.Key {
			want = 1
		}
		t.checkf(task.Deliveries == want && task.Attempt == 1, "task of %s: delivery %d, want %d of attempt 1", task.InstanceID, task.Deliveries, want)
	}
}

func cancelledMany(t *trial) {
	list := make([]provider.NewTask, 20)
	for n := range list {
		list[n] = newTask(int64(n + 1))
	}
	i := t.beginTasks(list...)
	req := next(i)
	for n := range list {
		if n != 7 {
			req.CancelTasks = append(req.CancelTasks, provider.CancelTask{EventID: int64(n + 1)})
		}
	}
	t.commit(req)
	t.tasksAre(i.Key, "8")
	is(t, "the task fetched", t.fetchTask().EventID, 8)
}

func cancelledAtOnce(t *trial) {
	i := t.begin("i")
	req := next(i)
	req.Tasks = []provider.NewTask{newTask(1), newTask(2)}
	req.CancelTasks = []provider.CancelTask{{EventID: 1}}
	t.commit(req)
	t.tasksAre(i.Key, "2")
	is(t, "the task fetched", t.fetchTask().EventID, 2)
}

func cancelledUnknown(t *trial) {
	i := t.beginTasks(newTask(1))
	req := next(i, "event")
	req.CancelTasks = []provider.CancelTask{{EventID: 98}, {EventID: 99, Remove: true}}
	t.commit(req)
	t.tasksAre(i.Key, "1")
	t.historyIs(i.Key, 1, "1:started 2:event")
}

// A holder whose expired lease went to another gets ErrLeaseLost. The new holder keeps the lease.
func expiredRenewal(t *trial) {
	i := t.beginTasks(newTask(1))
	old := t.fetchTask(brieflyTask)
	now := t.fetchTask()
	t.unchanged(i.Key, func() {
		res := t.renew(renewal(old))
		t.want(res.Err, provider.ErrLeaseLost)
		t.checkf(res.State.Kind == provider.ExecutionRunning, "got %+v, want state Running", res)
	})
	t.ok(t.renew(renewal(now)).Err)
	t.ok(t.report(now, provider.TaskComplete).Err)
}
