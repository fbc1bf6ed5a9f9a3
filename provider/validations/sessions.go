package validations

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure/provider"
)

func sessionCases() []testCase {
	const fetchable = "A task with a session is fetchable only by the owner that holds the session. If no owner holds it, an " +
		"owner with fewer than Sessions.Max sessions can fetch the task, and then holds the session."
	return []testCase{
		{name: "claimed", run: sessionClaimed, rule: fetchable},
		{name: "one-for-each-owner", run: sessionOfEach, rule: fetchable},
		{name: "max", run: sessionMax, rule: fetchable},
		{name: "hand-off", run: sessionHandOff, rule: fetchable},
		{name: "first-in-first-out", run: sessionOrder, rule: fetchable},
		{name: "not-asked-for", run: sessionNone, rule: "SessionClaim.Max: how many sessions Owner may hold; 0: no task with a session is returned"},
		{name: "one-name-space", run: sessionNames, rule: "Its ID names a session throughout the store."},
		{name: "counted", run: sessionCount, rule: "FetchTasksResult.Sessions: how many Owner holds now, if the fetch claims any"},
		{name: "counted-by-renewals", run: sessionRenewCount, rule: "RenewTasksResult.Sessions: how many Owner holds now"},
		{name: "holder-shown", run: sessionShown, rule: "TaskInfo.SessionOwner: the owner that holds the session now; \"\": none does"},
		{name: "waiting", run: sessionWaiting, rule: "WaitingTasks.InSession: how many of Count have a session, whoever holds it"},
		{name: "expired", run: sessionExpired, rule: "A task past its time goes to any fetch with Expired, regardless of limits and sessions."},
		{name: "limit-of-its-queue", run: sessionLimited, broad: true, rule: places},
	}
}

// claim lets a fetch hold sessions that do not end within a case.
func claim(most int) provider.SessionClaim {
	return provider.SessionClaim{Max: most, Lease: long, Idle: long}
}

// holding is a fetch by an owner that may hold most sessions.
func holding(owner string, most int) func(*provider.FetchTasksRequest) {
	return func(r *provider.FetchTasksRequest) { r.Owner, r.Sessions = owner, claim(most) }
}

func inSession(session string) func(*provider.NewTask) {
	return func(n *provider.NewTask) { n.Session = session }
}

// ofSessions makes a task of each session, with event IDs from 1.
func ofSessions(sessions ...string) []provider.NewTask {
	list := tasksOf(len(sessions))
	for n, session := range sessions {
		list[n].Session = session
	}
	return list
}

func one(r *provider.FetchTasksRequest) { r.Max = 1 }

// events names the tasks of a fetch, in order.
func events(list []leasedTask) string {
	words := make([]string, 0, len(list))
	for _, task := range list {
		words = append(words, fmt.Sprint(task.EventID))
	}
	return strings.Join(words, " ")
}

// completeAll completes tasks.
func completeAll(t *trial, list []leasedTask) {
	for _, task := range list {
		t.ok(t.report(task, provider.TaskComplete).Err)
	}
}

// takeSession fetches the first task of a session for owner "a".
func takeSession(t *trial, changes ...func(*provider.FetchTasksRequest)) leasedTask {
	list := t.fetchTasks(append([]func(*provider.FetchTasksRequest){holding("a", 1), one}, changes...)...)
	t.mustf(len(list) == 1, "got %d tasks of a session without a holder, want 1", len(list))
	return list[0]
}

// shownOwners names the holders of the sessions of an instance's tasks, in order.
func shownOwners(t *trial, i provider.Instance) string {
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	words := make([]string, 0, len(res.Tasks))
	for k := range res.Tasks {
		words = append(words, fmt.Sprintf("%d:%s", res.Tasks[k].EventID, res.Tasks[k].SessionOwner))
	}
	return strings.Join(words, " ")
}

// All tasks of a session show who holds it, also those that wait. A leased task outside of sessions shows nobody.
func sessionShown(t *trial) {
	i := t.beginTasks(append(ofSessions("s", "s", "other", ""), newTask(5))...)
	is(t, "holders before the first fetch", shownOwners(t, i), "1: 2: 3: 4: 5:")
	first := takeSession(t, shortIdle)
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Owner = "b" })
	is(t, "tasks without a session", events(list), "4 5")
	is(t, "holders", shownOwners(t, i), "1:a 2:a 3: 4: 5:")
	t.pass(2 * short)
	is(t, "holders while a task of the session is leased", shownOwners(t, i), "1:a 2:a 3: 4: 5:")
	completeAll(t, []leasedTask{first})
	t.pass(2 * short)
	is(t, "holders after the end of the session", shownOwners(t, i), "2: 3: 4: 5:")
}

func sessionWaiting(t *trial) {
	t.beginTasks(ofSessions("s", "s", "other", "")...)
	takeSession(t)
	checkStats(t, func(s provider.StatsResult) string {
		words := make([]string, 0, len(s.Tasks))
		for i := range s.Tasks {
			words = append(words, fmt.Sprintf("%d waiting, %d in sessions", s.Tasks[i].Count, s.Tasks[i].InSession))
		}
		return strings.Join(words, "; ")
	}, "3 waiting, 2 in sessions")
}

// The owner that gets the first task of a session gets all of them.
func sessionClaimed(t *trial) {
	t.beginTasks(tasksOf(3, inSession("s"))...)
	first := t.fetchTasks(holding("a", 1), one)
	t.mustf(len(first) == 1, "got %d tasks of a session without a holder, want 1", len(first))
	t.noTask("another owner holds the session", holding("b", 5))
	is(t, "next tasks for the holder", len(t.fetchTasks(holding("a", 1), one)), 1)
	completeAll(t, first)
	t.noTask("the owner holds the session between two tasks, too", holding("b", 5))
	is(t, "last tasks for the holder", len(t.fetchTasks(holding("a", 1))), 1)
}

func sessionOfEach(t *trial) {
	t.beginTasks(ofSessions("s1", "s2", "s1", "s2", "")...)
	a, b := t.fetchTasks(holding("a", 1), one), t.fetchTasks(holding("b", 1), one)
	t.mustf(events(a) == "1" && events(b) == "2", "two owners got %q and %q, want 1 and 2", events(a), events(b))
	b = t.fetchTasks(holding("b", 1))
	t.checkf(events(b) == "4 5", "got %q, want the next one of its session, and the plain one", events(b))
	a = t.fetchTasks(holding("a", 1))
	t.checkf(events(a) == "3", "got %q, want the next one of its session", events(a))
}

func sessionMax(t *trial) {
	t.beginTasks(ofSessions("s1", "s2", "s3", "s1", "s3")...)
	a := t.fetchTasks(holding("a", 2))
	is(t, "tasks for an owner that may hold two sessions", events(a), "1 2 4")
	completeAll(t, a)
	t.noTask("the owner holds two sessions", holding("a", 2))
	b := t.fetchTasks(holding("b", 2))
	is(t, "tasks for the other owner", events(b), "3 5")
}

// A hand-off of a task does not claim its session.
func sessionHandOff(t *trial) {
	handed, _ := handedOff()
	handed.EventID, handed.Session = 2, "s"
	t.beginTasks(append(tasksOf(1, inSession("s")), handed)...)
	t.fetchTask(holding("b", 1))
}

func sessionOrder(t *trial) {
	t.beginTasks(tasksOf(4, inSession("s"))...)
	got := make([]string, 0, 4)
	for range 4 {
		list := t.fetchTasks(holding("a", 1), one)
		got = append(got, events(list))
		completeAll(t, list)
	}
	t.checkf(strings.Join(got, " ") == "1 2 3 4", "the tasks of a session came in the order %q, want \"1 2 3 4\"", got)
}

func sessionNone(t *trial) {
	t.beginTasks(ofSessions("s", "")...)
	list := t.fetchTasks()
	is(t, "tasks of a fetch without sessions", events(list), "2")
	is(t, "tasks of the session for its owner", len(t.fetchTasks(holding(node, 1))), 1)
	t.noTask("the fetch asks for no sessions, although its owner holds one")
}

// Instances, queues and activities share the names of sessions.
func sessionNames(t *trial) {
	t.beginTasks(tasksOf(1, inSession("s"))...)
	t.begin("other", func(r *provider.CommitTurnRequest) {
		r.Tasks = tasksOf(1, inSession("s"), func(n *provider.NewTask) { n.Queue, n.Name = "elsewhere", "other" })
	})
	t.fetchTask(holding("a", 1))
	other := func(r *provider.FetchTasksRequest) {
		r.Queues = []provider.QueueFilter{{Queue: "elsewhere", Names: []string{"other"}}}
	}
	t.noTask("a task of another queue and instance holds the session", holding("b", 1), other)
	t.fetchTask(holding("a", 1), other)
}

func sessionCount(t *trial) {
	t.beginTasks(ofSessions("s1", "s2", "s2", "")...)
	for _, want := range []struct{ claims, holds int }{{3, 2}, {1, 2}, {0, 0}} {
		req := fetchTasksRequest()
		if want.claims > 0 {
			req.Sessions = claim(want.claims)
		}
		res, err := t.FetchTasks(t.ctx, req)
		t.ok(err)
		t.checkf(res.Sessions == want.holds, "a fetch with Max %d has %d sessions, want %d", want.claims, res.Sessions, want.holds)
	}
}

func renewSessions(t *trial, owner string) int {
	res, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: long, Owner: owner, SessionLease: long})
	t.ok(err)
	return res.Sessions
}

func sessionRenewCount(t *trial) {
	t.beginTasks(ofSessions("s1", "s2", "s3")...)
	t.mustf(len(t.fetchTasks(holding("a", 2))) == 2, "the owner did not get two tasks")
	is(t, "sessions of a renewal by an owner of two", renewSessions(t, "a"), 2)
	is(t, "sessions of a renewal by an owner of none", renewSessions(t, "b"), 0)
	res, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: long})
	t.ok(err)
	is(t, "sessions of a renewal without an owner", res.Sessions, 0)
}

func sessionExpired(t *trial) {
	tasks := tasksOf(2, inSession("s"))
	tasks[1].Deadline = short
	t.beginTasks(tasks...)
	t.mustf(len(t.fetchTasks(holding("a", 1), one)) == 1, "the owner did not get a task")
	late := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Owner, r.Expired = "b", true })
	t.checkf(late.PastDeadline && late.EventID == 2, "got %+v, want task 2, past its deadline", late)
}

// MaxLeased applies to the holder of a session, too. A fetch that the limit leaves without tasks takes no session.
func sessionLimited(t *trial) {
	t.beginTasks(ofSessions("s", "s", "r")...)
	list := t.fetchTasks(holding("a", 2), limited(1))
	is(t, "tasks under a limit of 1", events(list), "1")
	t.noTask("the queue is at its limit", holding("b", 2), limited(1))
	is(t, "sessions of an owner without a task", renewSessions(t, "b"), 0)
	completeAll(t, list)
	b := t.fetchTasks(holding("b", 2), limited(1))
	t.checkf(events(b) == "3", "got %q, want the one of the other session", events(b))
}

func sessionRaces() []testCase {
	const once = "Only one of several concurrent fetches gets the session."
	return []testCase{
		{name: "racing-for-one", run: raceSession, rule: once},
		{name: "racing-for-many", run: raceSessions, rule: once},
		{name: "racing-fetches-of-one-owner", run: raceOwner, rule: once},
	}
}

// Many owners want one session. One of them gets it, with all its tasks.
func raceSession(t *trial) {
	for round := range 5 {
		i := t.beginTasks(tasksOf(8, inSession(fmt.Sprint("s", round)))...)
		var mu sync.Mutex
		var holders []string
		t.parallel(8, func(n int) {
			owner := fmt.Sprint("node-", n)
			if list := t.fetchTasks(holding(owner, 1+round), one); len(list) > 0 {
				mu.Lock()
				holders = append(holders, owner)
				mu.Unlock()
			}
		})
		t.mustf(len(holders) == 1, "round %d: %q hold the session, want one owner", round, holders)
		is(t, "the remaining tasks for the holder", len(t.fetchTasks(holding(holders[0], 1+round))), 7)
		t.remove(i.Key, true)
	}
}

// Many owners want many sessions. Each session has one holder, and no owner holds more than its Max.
func raceSessions(t *trial) {
	const sessions, owners, most = 12, 4, 2
	names := make([]string, 2*sessions)
	for n := range names {
		names[n] = fmt.Sprint("s", n%sessions)
	}
	t.beginTasks(ofSessions(names...)...)
	var mu sync.Mutex
	holders := map[string][]string{} // by session
	t.parallel(2*owners, func(n int) {
		owner := fmt.Sprint("node-", n%owners)
		for range sessions {
			for _, task := range t.fetchTasks(holding(owner, most), one) {
				session := names[task.EventID-1]
				mu.Lock()
				if !slices.Contains(holders[session], owner) {
					holders[session] = append(holders[session], owner)
				}
				mu.Unlock()
			}
		}
	})
	held := map[string]int{}
	for session, list := range holders {
		t.checkf(len(list) == 1, "session %s is held by %q, want one owner", session, list)
		for _, owner := range list {
			held[owner]++
		}
	}
	for n := range owners {
		owner := fmt.Sprint("node-", n)
		t.checkf(held[owner] == most, "%s holds %d sessions, want %d", owner, held[owner], most)
	}
}

// The loops of one owner share its sessions. Together they hold no more than its Max.
func raceOwner(t *trial) {
	const sessions, most = 8, 3
	names := make([]string, sessions)
	for n := range names {
		names[n] = fmt.Sprint("s", n)
	}
	t.beginTasks(ofSessions(names...)...)
	var mu sync.Mutex
	var got []leasedTask
	t.parallel(6, func(int) {
		list := t.fetchTasks(holding("a", most), one)
		mu.Lock()
		got = append(got, list...)
		mu.Unlock()
	})
	t.checkf(len(got) == most, "the loops of one owner took %d sessions at once, want %d", len(got), most)
	is(t, "sessions of the owner's renewal", renewSessions(t, "a"), most)
}
