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
