package validations

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// A sessionUse uses a leased task and returns when. The instance is that of the task.
type sessionUse func(i provider.Instance, task leasedTask) provider.Time

// sessionUses are all uses that end or shorten the lease, so that only the use keeps the session.
func sessionUses(t *trial) map[string]sessionUse {
	uses := map[string]sessionUse{
		"completed by a commit": func(i provider.Instance, task leasedTask) provider.Time {
			req := next(t.get(i.Key))
			req.Completes = []provider.TaskCompletion{{EventID: task.EventID, Token: task.token}}
			return t.commit(req).Now
		},
		"renewed": func(_ provider.Instance, task leasedTask) provider.Time {
			res, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{renewal(task)}, Lease: 1})
			t.ok(err)
			return res.Now
		},
	}
	for name, outcome := range map[string]provider.TaskOutcome{
		"completed": provider.TaskComplete, "poisoned": provider.TaskPoison, "released": provider.TaskRelease, "released by token": provider.TaskReleaseAll,
		"discarded": provider.TaskDiscard, "parked": provider.TaskPark, "retried": provider.TaskRetry,
	} {
		uses[name] = func(_ provider.Instance, task leasedTask) provider.Time {
			item := reportOf(task, outcome)
			if outcome == provider.TaskReleaseAll {
				item.TaskRef, item.Attempt = provider.TaskRef{}, 0
			}
			res, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
			t.ok(err)
			t.mustf(len(res.Items) == 1 && res.Items[0].Err == nil, "the report returned %+v, want one result without an error", res.Items)
			return res.Now
		}
	}
	return uses
}

// usedSessions uses a session of each kind after the idle time of its last use. Another owner then gets the session no earlier than
// the idle time after that. A slow machine gets longer idle times, until each fetch is early enough to show something.
func usedSessions(t *trial) {
	const rounds = 8
	idle := short
	for n := range rounds {
		if usedWithin(t, fmt.Sprint("i", n), idle) || n == rounds-1 {
			return
		}
		idle *= 2
	}
}

// usedWithin reports whether all fetches were early enough to show something, or one of them showed a failure.
func usedWithin(t *trial, id string, idle time.Duration) bool {
	uses := sessionUses(t)
	names := slices.Sorted(maps.Keys(uses))
	i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = ofSessions(names...) })
	leased := t.fetchTasks(holding("a", len(names)), leasing(provider.SessionClaim{Lease: long, Idle: idle}))
	t.mustf(len(leased) == len(names), "got %d tasks of sessions without a holder, want %d", len(leased), len(names))
	req := next(i)
	for n, name := range names { // a second task of each session
		task := newTask(int64(len(names) + n + 1))
		task.Session = name
		req.Tasks = append(req.Tasks, task)
	}
	t.commit(req)
	t.pass(idle + idle/4)
	used := map[string]provider.Time{}
	for _, task := range leased {
		name := names[task.EventID-1]
		used[name] = uses[name](i, task)
	}
	t.pass(blink)
	fetch := with(fetchTasksRequest(), holding("b", len(names)))
	res, err := t.FetchTasks(t.ctx, fetch)
	t.ok(err)
	shown, failed := true, false
	for _, name := range names {
		if res.Now >= used[name].Add(idle) {
			shown = false
			continue
		}
		for _, task := range res.Tasks {
			if names[(int(task.EventID)-1)%len(names)] == name {
				t.errorf("a session whose task was %s went to another owner %v later, want it to last for Idle, which is %v", name, res.Now.Sub(used[name]), idle)
				failed = true
			}
		}
	}
	t.remove(i.Key, true)
	releaseSessions(t, "a")
	releaseSessions(t, "b")
	return shown || failed
}

// A hand-off leases a task of an idle session to an owner that does not hold the session.
func usedByAnother(t *trial) {
	i := t.beginTasks(tasksOf(1, inSession("s"))...)
	completeAll(t, []leasedTask{takeSession(t, shortIdle)})
	handed, _ := handedOff()
	handed.EventID, handed.Session, handed.Lease.Owner = 3, "s", "c"
	req := next(i)
	queued := newTask(2)
	queued.Session = "s"
	req.Tasks = []provider.NewTask{queued, handed}
	t.commit(req)
	t.pass(2 * short)
	is(t, "the task for another owner after the idle time", t.fetchTask(holding("b", 1)).EventID, 2)
}

// leasing sets how long an owner holds its sessions.
func leasing(lease provider.SessionClaim) func(*provider.FetchTasksRequest) {
	return func(r *provider.FetchTasksRequest) { r.Sessions.Lease, r.Sessions.Idle = lease.Lease, lease.Idle }
}

// releaseSessions ends the sessions of an owner.
func releaseSessions(t *trial, owner string) {
	_, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: long, Owner: owner, SessionLease: 1})
	t.ok(err)
	t.pass(blink)
}
