package validations

import "github.com/perdure/perdure/provider"

func settledShown(t *trial) {
	i := t.beginTasks(newTask(1))
	t.fetchTask(brieflyTask)
	t.pass(2 * short)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.mustf(len(res.Tasks) == 1, "%d tasks, want 1", len(res.Tasks))
	task := res.Tasks[0]
	t.checkf(task.State == provider.TaskQueued && task.Owner == "" && task.LeaseUntil == 0, "task %+v, want it queued without a lease", task)
	t.checkf(task.Attempt == 1 && task.Deliveries == 1, "task %+v, want attempt 1 and one delivery", task)
}

func settledRedriven(t *trial) {
	task := newTask(1)
	task.Priority, task.FairnessKey, task.Session, task.Queue, task.Name = provider.PriorityHighest, "fair", "session", "elsewhere", "other"
	task.StartBy, task.Deadline = 10*long, 20*long
	i := t.beginTasks(task)
	there := func(r *provider.FetchTasksRequest) {
		r.Queues = []provider.QueueFilter{{Queue: "elsewhere", Names: []string{"other"}}}
		r.Sessions = provider.SessionClaim{Max: 1, Lease: long, Idle: long}
	}
	t.ok(t.report(t.fetchTask(there), provider.TaskRetry, func(r *provider.TaskReport) { r.Failure = []byte("boom") }).Err)
	t.ok(t.report(t.fetchTask(there), provider.TaskPoison).Err)
	list := t.letters()
	t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
	is(t, "letters redriven", actOnLetters(t, provider.DeadLettersRedrive, list[0].ID), 1)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.mustf(len(res.Tasks) == 1, "%d tasks, want 1", len(res.Tasks))
	got := res.Tasks[0]
	t.checkf(got.FairnessKey == "fair" && got.Session == "session" && got.Priority == provider.PriorityHighest && got.Queue == "elsewhere" && got.Name == "other",
		"redriven to %+v, want its queue, name, priority, fairness key and session", got)
	t.checkf(got.Attempt == 1 && got.Deliveries == 0 && got.StartBy == 0 && got.Deadline == 0 && len(got.Failure) == 0,
		"redriven to %+v, want a first attempt without times and failure", got)
	is(t, "tasks of the session for a fetch without sessions", len(t.fetchTasks(there, func(r *provider.FetchTasksRequest) { r.Sessions.Max = 0 })), 0)
	is(t, "the payload", string(t.fetchTask(there).Payload), "task1")
}

func settledParked(t *trial) {
	task := newTask(1)
	task.StartBy = long
	i := t.beginTasks(task)
	held := t.fetchTask()
	t.ok(t.report(held, provider.TaskPark).Err)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.mustf(len(res.Tasks) == 1, "%d tasks, want 1", len(res.Tasks))
	t.checkf(res.Tasks[0].State == provider.TaskParked && res.Tasks[0].StartBy == held.StartBy && held.StartBy > 0,
		"task %+v, want it parked with StartBy %d", res.Tasks[0], held.StartBy)
}

func settledIdle(t *trial) {
	tasks := tasksOf(3)
	for n := range tasks {
		tasks[n].Session = "s"
	}
	t.beginTasks(tasks...)
	fetch := func(owner string, claim provider.SessionClaim) leasedTask {
		return t.fetchTask(func(r *provider.FetchTasksRequest) { r.Owner, r.Max, r.Sessions = owner, 1, claim })
	}
	first := fetch(node, provider.SessionClaim{Max: 1, Lease: long, Idle: short})
	second := fetch(node, provider.SessionClaim{Max: 1, Lease: long, Idle: 10 * long})
	t.ok(t.report(first, provider.TaskComplete).Err)
	t.ok(t.report(second, provider.TaskComplete).Err)
	third := fetch("node-b", provider.SessionClaim{Max: 1, Lease: long, Idle: long}) // waits until the session ends
	is(t, "the task of the other owner", third.EventID, 3)
}

func settledLate(t *trial) {
	task := newTask(1)
	task.NotBefore, task.Deadline = long, short
	t.beginTasks(task)
	t.pass(2 * short)
	is(t, "tasks fetched for work", len(t.fetchTasks()), 0)
	late := t.fetchTask(expired)
	t.checkf(late.PastDeadline, "got %+v, want it past its time", late)
	t.ok(t.report(late, provider.TaskRetry, func(r *provider.TaskReport) { r.Delay = long }).Err)
	t.checkf(t.fetchTask(expired).PastDeadline, "a task that is tried again later is not past its time, want it so")
}

func settledCancelExpired(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask(brieflyTask)
	t.pass(2 * short)
	commitCancel(t, i, false)
	t.tasksAre(i.Key, "")
	t.want(t.report(task, provider.TaskComplete).Err, provider.ErrLeaseLost)
}

func settledCancelParked(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.ok(t.report(task, provider.TaskPark).Err)
	commitCancel(t, i, false)
	t.tasksAre(i.Key, "1")
	res := t.renew(renewal(task))
	t.checkf(res.Err == nil && res.CancelRequested, "the renewal returned %+v, want CancelRequested", res)
	commitCancel(t, t.get(i.Key), true)
	t.tasksAre(i.Key, "")
}

func settledBegun(t *trial) {
	task := newTask(1)
	task.StartBy = short
	t.beginTasks(task)
	t.pass(2 * short)
	late := t.fetchTask(expired)
	t.checkf(late.PastDeadline, "got %+v, want it past its time", late)
	t.ok(t.report(late, provider.TaskRelease, releasedBegun).Err)
	again := fetchForWork(t)
	is(t, "StartBy after the release", again.StartBy, 0)
}
