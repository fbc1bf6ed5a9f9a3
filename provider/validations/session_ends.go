package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Cases about when sessions end.

func sessionEnds() []testCase {
	const lease = "A session ends Sessions.Lease after the last FetchTasks with Sessions, or RenewTasks, that named its owner."
	const idle = "It also ends Sessions.Idle after one of its tasks was last leased to the owner, renewed, reported or completed."
	const busy = "In both cases the owner keeps it while it has an unexpired lease of one of its tasks."
	const ended = "A session that has ended is held by nobody until a fetch takes it. A late renewal, a hand-off or a task past its time does " +
		"not bring it back to its last owner."
	const wakes = "A fetch that waits for a session, or for a place for one, continues when the session ends."
	const renew = "With Owner, the call also extends the sessions that Owner holds, to SessionLease from now. Items may then be empty."
	return []testCase{
		{name: "lease-over", run: sessionLeaseOver, rule: lease},
		{name: "fetch-extends", run: sessionFetchExtends, rule: lease},
		{name: "renewal-extends", run: sessionRenewExtends, rule: renew},
		{name: "renewal-of-an-ended-one", run: sessionRenewEnded, rule: renew},
		{name: "renewal-gives-up", run: sessionGiveUp, rule: renew},
		{name: "claimed-again", run: sessionAgain, rule: lease},
		{name: "idle", run: sessionIdle, rule: idle},
		{name: "in-use", run: usedSessions, rule: idle},
		{name: "leased-task-keeps-it", run: sessionBusy, rule: busy},
		{name: "lease-of-another-owner", run: usedByAnother, rule: busy},
		{name: "expired-task", run: sessionExpiredTask, rule: idle},
		{name: "taken-over", run: sessionTakenOver, broad: true, rule: busy},
		{name: "completed-after-its-end", run: sessionLate, rule: busy},
		{name: "late-renewal", run: sessionRenewedLate, rule: ended},
		{name: "hand-off-to-its-last-owner", run: sessionHandedLate, rule: ended},
		{name: "late-task-for-its-last-owner", run: sessionPastTime, rule: ended},
		{name: "expiry-wakes", run: sessionWakes, rule: wakes},
		{name: "report-wakes", run: sessionReportWakes, rule: wakes},
	}
}

var (
	shortLease = leasing(provider.SessionClaim{Lease: short, Idle: long}) //nolint:gochecknoglobals // constant
	shortIdle  = leasing(provider.SessionClaim{Lease: long, Idle: short}) //nolint:gochecknoglobals // constant
)

func sessionLeaseOver(t *trial) {
	t.beginTasks(tasksOf(2, inSession("s"))...)
	completeAll(t, []leasedTask{takeSession(t, shortLease)})
	t.pass(2 * short)
	is(t, "tasks of the session after its lease", len(t.fetchTasks(holding("b", 1))), 1)
}

// A leased task keeps the session, so that a slow machine does not lose it meanwhile.
func sessionFetchExtends(t *trial) {
	t.beginTasks(append(tasksOf(2, inSession("s")), newTask(3))...)
	first := takeSession(t, shortLease)
	plain := t.fetchTasks(holding("a", 1), func(r *provider.FetchTasksRequest) { r.Queues = nil }) // it returns no tasks
	t.mustf(len(plain) == 0, "got %d tasks from a fetch without queues, want 0", len(plain))
	completeAll(t, []leasedTask{first})
	t.pass(2 * short)
	list := t.fetchTasks(holding("b", 1))
	is(t, "tasks for another owner after the holder's fetch", events(list), "3")
}

func sessionRenewExtends(t *trial) {
	t.beginTasks(tasksOf(2, inSession("s"))...)
	first := takeSession(t, shortLease)
	is(t, "sessions of the renewal", renewSessions(t, "a"), 1)
	completeAll(t, []leasedTask{first})
	t.pass(2 * short)
	t.noTask("the session was renewed", holding("b", 1))
}

func sessionRenewEnded(t *trial) {
	t.beginTasks(tasksOf(2, inSession("s"))...)
	completeAll(t, []leasedTask{takeSession(t, shortLease)})
	t.pass(2 * short)
	is(t, "sessions of a renewal after the end of the session", renewSessions(t, "a"), 0)
	is(t, "tasks of the ended session", len(t.fetchTasks(holding("b", 1))), 1)
}

// An owner that stops ends the leases of its sessions. Others do not wait until they expire.
func sessionGiveUp(t *trial) {
	t.beginTasks(tasksOf(2, inSession("s"))...)
	completeAll(t, []leasedTask{takeSession(t)})
	wait := fetchWaiting(t)
	res, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: long, Owner: "a", SessionLease: short})
	t.ok(err)
	is(t, "sessions of the renewal", res.Sessions, 1)
	is(t, "tasks of the waiting fetch after the shorter lease", len(wait()), 1)
}

func sessionAgain(t *trial) {
	t.beginTasks(tasksOf(3, inSession("s"))...)
	completeAll(t, []leasedTask{takeSession(t, shortLease)})
	t.pass(2 * short)
	completeAll(t, []leasedTask{takeSession(t)})
	t.noTask("the owner has claimed the session again", holding("b", 1))
}

func sessionIdle(t *trial) {
	t.beginTasks(tasksOf(2, inSession("s"))...)
	completeAll(t, []leasedTask{takeSession(t, shortIdle)})
	t.pass(2 * short)
	is(t, "sessions of a renewal after the idle time", renewSessions(t, "a"), 0)
	is(t, "tasks of the idle session", len(t.fetchTasks(holding("b", 1))), 1)
}

func sessionBusy(t *trial) {
	for _, over := range []func(*provider.FetchTasksRequest){shortLease, shortIdle} {
		i := t.beginTasks(tasksOf(2, inSession("s"))...)
		first := takeSession(t, over)
		t.pass(2 * short)
		t.noTask("a task of the session is leased", holding("b", 1))
		completeAll(t, []leasedTask{first, takeSession(t)})
		t.remove(i.Key, true)
		releaseSessions(t, "a")
	}
}

// A lost task goes back to the owner of its session.
func sessionExpiredTask(t *trial) {
	t.beginTasks(tasksOf(1, inSession("s"))...)
	takeSession(t, brieflyTask)
	t.pass(2 * short)
	t.noTask("the owner holds the session", holding("b", 1))
	list := t.fetchTasks(holding("a", 1))
	is(t, "tasks for the holder after it lost one", len(list), 1)
}

// The owner is gone. Another one gets the leased task and the pending one.
func sessionTakenOver(t *trial) {
	t.beginTasks(tasksOf(2, inSession("s"))...)
	first := takeSession(t, shortLease, brieflyTask)
	t.pass(2 * short)
	list := t.fetchTasks(holding("b", 1))
	is(t, "tasks for the next owner", len(list), 2)
	for _, task := range list {
		t.checkf(task.EventID != 1 || task.Deliveries == 2, "the task that was leased before is on delivery %d, want 2", task.Deliveries)
	}
	t.want(t.report(first, provider.TaskComplete).Err, provider.ErrLeaseLost)
	t.noTask("the session has a new owner", holding("a", 1))
}

// A task's lease does not depend on the session.
func sessionLate(t *trial) {
	t.beginTasks(tasksOf(2, inSession("s"))...)
	first := takeSession(t, shortLease)
	t.pass(2 * short)
	completeAll(t, []leasedTask{first})
	is(t, "tasks of the ended session", len(t.fetchTasks(holding("b", 1))), 1)
}

// The lease of the task is extended, and with it no session: another owner gets its other tasks.
func sessionRenewedLate(t *trial) {
	i := t.beginTasks(tasksOf(2, inSession("s"))...)
	first := takeSession(t, shortLease, brieflyTask)
	t.pass(2 * short)
	res, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{
		Items: []provider.TaskRenewal{renewal(first)}, Lease: long, Owner: "a", SessionLease: long,
	})
	t.ok(err)
	t.mustf(len(res.Items) == 1 && res.Items[0].Err == nil, "the late renewal returned %+v, want one result without an error", res.Items)
	is(t, "sessions of the late renewal", res.Sessions, 0)
	t.endedFor(i, "1: 2:", "2")
	is(t, "holders after the fetch of another owner", shownOwners(t, i), "1:b 2:b")
	completeAll(t, []leasedTask{first})
}

// The last owner completed a task, lost the session, and hands off another task of it to itself.
func sessionHandedLate(t *trial) {
	i := t.beginTasks(tasksOf(2, inSession("s"))...)
	completeAll(t, []leasedTask{takeSession(t, shortIdle)})
	t.pass(2 * short)
	handed, _ := handedOff()
	handed.EventID, handed.Session, handed.Lease.Owner = 3, "s", "a"
	req := next(i)
	req.Tasks = []provider.NewTask{handed}
	t.commit(req)
	t.endedFor(i, "2: 3:", "2")
}

// The last owner gets a task past its time, as any owner does. It gets the session only with a task that is in time.
func sessionPastTime(t *trial) {
	for _, claims := range []bool{false, true} {
		tasks := tasksOf(3, inSession("s"))
		tasks[1].Deadline = short
		i := t.beginTasks(tasks...)
		completeAll(t, []leasedTask{takeSession(t, shortLease)})
		t.pass(2 * short)
		late := t.fetchTask(one, func(r *provider.FetchTasksRequest) {
			r.Owner, r.Expired = "a", true
			if claims {
				r.Sessions = claim(1)
			}
		})
		t.mustf(late.EventID == 2 && late.PastDeadline, "got task %d of the owner's fetch, want the one past its time", late.EventID)
		t.endedFor(i, "2: 3:", "3")
		t.remove(i.Key, true)
		releaseSessions(t, "b")
	}
}

// endedFor checks that nobody holds the session of an instance's tasks, and that another owner gets the one that can be fetched.
func (t *trial) endedFor(i provider.Instance, holders, fetchable string) {
	is(t, "sessions of the last owner", renewSessions(t, "a"), 0)
	is(t, "holders of the ended session", shownOwners(t, i), holders)
	is(t, "tasks of the ended session for another owner", events(t.fetchTasks(holding("b", 1))), fetchable)
}

// fetchWaiting starts a fetch of owner "b" that waits.
func fetchWaiting(t *trial) func() []leasedTask {
	return parked(t, func() []leasedTask {
		return t.fetchTasks(holding("b", 1), func(r *provider.FetchTasksRequest) { r.Wait = patience })
	})
}

func sessionWakes(t *trial) {
	for n, over := range []provider.SessionClaim{{Lease: 3 * short, Idle: long}, {Lease: long, Idle: 3 * short}} {
		i := t.begin(fmt.Sprint("i", n), func(r *provider.CommitTurnRequest) { r.Tasks = tasksOf(2, inSession("s")) })
		completeAll(t, []leasedTask{takeSession(t, leasing(over))})
		list := fetchWaiting(t)()
		is(t, "tasks of the waiting fetch after the session ended", len(list), 1)
		completeAll(t, list)
		t.remove(i.Key, true)
		releaseSessions(t, "b")
		releaseSessions(t, "a")
	}
}

// Only the leased task keeps the session.
func sessionReportWakes(t *trial) {
	t.beginTasks(tasksOf(2, inSession("s"))...)
	first := takeSession(t, shortLease)
	t.pass(2 * short)
	wait := fetchWaiting(t)
	completeAll(t, []leasedTask{first})
	is(t, "tasks of the waiting fetch after the last task of the session", len(wait()), 1)
}
