package validations

import (
	"maps"

	"github.com/perdure/perdure/provider"
)

// taskEvents prepare a task in a queue of the given name.
func taskEvents(t *trial) causes {
	all := offeringEvents(t)
	maps.Copy(all, leaseEvents(t))
	return all
}

// offeringEvents concern a task that nobody has leased.
func offeringEvents(t *trial) causes {
	return causes{
		"commit": func(id string) func() {
			i := t.begin(id)
			return func() {
				req, task := next(i), newTask(1)
				task.Queue = id
				req.Tasks = []provider.NewTask{task}
				t.commit(req)
			}
		},
		"NotBefore": func(id string) func() {
			task := newTask(1)
			task.NotBefore = 2 * short
			t.beginTask(id, task)
			return func() {}
		},
		"resume": func(id string) func() {
			i := t.beginTask(id, newTask(1))
			t.steer(i.Key, provider.SteerSuspend)
			return func() { t.steer(i.Key, provider.SteerResume) }
		},
		"expiry of a hand-off": func(id string) func() {
			task, _ := handedOff()
			task.Lease.Duration = 2 * short
			t.beginTask(id, task)
			return func() {}
		},
		"redriven task": func(id string) func() {
			task := t.takenTask(id)
			t.ok(t.report(task, provider.TaskPoison).Err)
			letter := t.lettersOf(task.Key)[0].ID
			return func() { actOnLetters(t, provider.DeadLettersRedrive, letter) }
		},
		"Deadline": func(id string) func() {
			task := newTask(1)
			task.NotBefore, task.Deadline = long, 2*short
			t.beginTask(id, task)
			return func() {}
		},
	}
}

// leaseEvents end the lease of a task.
func leaseEvents(t *trial) causes {
	report := func(outcome provider.TaskOutcome, change func(*provider.TaskReport)) func(id string) func() {
		return func(id string) func() {
			task := t.takenTask(id)
			return func() { t.ok(t.report(task, outcome, change).Err) }
		}
	}
	nothing := func(*provider.TaskReport) {}
	later := func(r *provider.TaskReport) { r.Delay = short }
	return causes{
		"retry":           report(provider.TaskRetry, nothing),
		"delayed retry":   report(provider.TaskRetry, later),
		"release":         report(provider.TaskRelease, nothing),
		"delayed release": report(provider.TaskRelease, later),
		"discard":         report(provider.TaskDiscard, nothing),
		"release of a token": func(id string) func() {
			t.beginTask(id, newTask(1))
			token := unique()
			t.fetchTask(fromQueue(id), func(r *provider.FetchTasksRequest) { r.Token = token })
			return func() {
				_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{{Token: token, Outcome: provider.TaskReleaseAll}}})
				t.ok(err)
			}
		},
		"expiry of a lease": func(id string) func() { t.takenTask(id, brieflyTask); return func() {} },
		"expiry of a renewal": func(id string) func() {
			task := t.takenTask(id)
			return func() {
				_, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{renewal(task)}, Lease: short})
				t.ok(err)
			}
		},
		"retry of a parked task": func(id string) func() {
			task := t.takenTask(id)
			t.ok(t.report(task, provider.TaskPark).Err)
			return func() { t.ok(t.report(task, provider.TaskRetry).Err) }
		},
		"limit of a parked task": func(id string) func() {
			task := t.takenTask(id)
			return func() { t.ok(t.report(task, provider.TaskPark, func(r *provider.TaskReport) { r.Limit = short }).Err) }
		},
		"end of a session": func(id string) func() {
			tasks := newTask(1)
			tasks.Session = id
			t.beginTask(id, tasks)
			task := t.fetchTask(fromQueue(id), holding("node-b", 100))
			return func() {
				t.ok(t.report(task, provider.TaskRelease).Err)
				_, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Owner: "node-b", SessionLease: short, Lease: long})
				t.ok(err)
			}
		},
	}
}

// beginTask makes an instance with a task in a queue that has the instance's ID as its name.
func (t *trial) beginTask(id string, task provider.NewTask) provider.Instance {
	task.Queue = id
	return t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
}

// takenTask fetches the task of a new instance.
func (t *trial) takenTask(id string, changes ...func(*provider.FetchTasksRequest)) leasedTask {
	t.beginTask(id, newTask(1))
	return t.fetchTask(append(changes, fromQueue(id))...)
}

// fromQueue fetches from one queue, also tasks past their time, and may claim sessions.
func fromQueue(name string) func(*provider.FetchTasksRequest) {
	return func(r *provider.FetchTasksRequest) {
		r.Queues[0].Queue, r.Expired, r.Sessions = name, true, claim(100)
	}
}
