package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Cases about sessions that end with an instance, or by a commit.

func sessionMakers() []testCase {
	const ends = "It also ends with the instance whose task the owner took it with, when that ends in any way or is removed."
	const passes = "If other instances have tasks in the session then, it passes to one of these instead."
	const goesOn = "Continue-as-new and Reset end no session."
	const named = "A commit ends the sessions of EndSessions, whoever holds them: each lasts only as long as its owner has an unexpired " +
		"lease of one of its tasks."
	const wakes = "A fetch that waits for a session, or for a place for one, continues when the session ends."
	return []testCase{
		{name: "ends-with-its-instance", run: sessionOfInstance, broad: true, rule: ends},
		{name: "passes-to-another-instance", run: sessionPasses, rule: passes},
		{name: "shared", run: sessionShared, rule: "It no longer ends with an instance once the owner has taken tasks of several instances in it."},
		{name: "next-execution", run: sessionGoesOn, broad: true, rule: goesOn},
		{name: "ended-by-name", run: sessionNamed, rule: named},
		{name: "ended-by-name-while-leased", run: sessionNamedBusy, rule: named},
		{name: "end-of-instance-wakes", run: sessionEndWakes, rule: wakes},
		{name: "end-by-name-wakes", run: sessionNamedWakes, rule: wakes},
	}
}

// beginIn begins an instance with a task in each of the sessions.
func beginIn(t *trial, id string, sessions ...string) provider.Instance {
	return t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = ofSessions(sessions...) })
}

// heldSessions counts the sessions of owner "a".
func heldSessions(t *trial) int { return renewSessions(t, "a") }

func sessionOfInstance(t *trial) {
	for n, end := range []func(i provider.Instance){
		func(i provider.Instance) { t.end(t.get(i.Key)) },
		func(i provider.Instance) { t.steer(i.Key, provider.SteerTerminate) },
		func(i provider.Instance) { t.remove(i.Key, true) },
	} {
		i := beginIn(t, fmt.Sprint("i", n), "s", "s", "t")
		keep := beginIn(t, fmt.Sprint("keep", n), "kept")
		list := t.fetchTasks(holding("a", 3))
		is(t, "tasks of the first owner", len(list), 4)
		completeAll(t, list)
		is(t, "sessions before the end of the instance", heldSessions(t), 3)
		end(i)
		is(t, "sessions after the end of the instance", heldSessions(t), 1)
		later := beginIn(t, fmt.Sprint("later", n), "s", "kept")
		is(t, "tasks for another owner after the end of the instance", events(t.fetchTasks(holding("b", 3))), "1")
		t.remove(keep.Key, true)
		t.remove(later.Key, true)
		is(t, "sessions after the end of all instances", heldSessions(t), 0)
	}
}

// The session belongs to the instance whose task it was taken with, until that ends. Then it belongs to one with a task in it.
func sessionPasses(t *trial) {
	first := beginIn(t, "first", "s")
	completeAll(t, []leasedTask{takeSession(t)})
	second := beginIn(t, "second", "s", "s")
	t.end(t.get(first.Key))
	is(t, "sessions while another instance has tasks in it", heldSessions(t), 1)
	t.noTask("the owner still holds the session", holding("b", 1))
	completeAll(t, t.fetchTasks(holding("a", 1)))
	is(t, "sessions before the end of the other instance", heldSessions(t), 1)
	t.end(t.get(second.Key))
	is(t, "sessions after the end of both", heldSessions(t), 0)
}

// The tasks of two instances come with one fetch, or with several.
func sessionShared(t *trial) {
	for n, atOnce := range []bool{true, false} {
		session := fmt.Sprint("s", n)
		first := beginIn(t, session+"-first", session)
		if !atOnce {
			completeAll(t, t.fetchTasks(holding("a", 2)))
		}
		second := beginIn(t, session+"-second", session)
		list := t.fetchTasks(holding("a", 2))
		t.mustf(len(list) > 0, "got no task of the session for its owner")
		completeAll(t, list)
		t.end(t.get(first.Key))
		is(t, "sessions after the end of the instance that opened it", heldSessions(t), n+1)
		t.end(t.get(second.Key))
		is(t, "sessions after the end of both instances", heldSessions(t), n+1)
	}
}

func sessionGoesOn(t *trial) {
	i := beginIn(t, "i", "s")
	completeAll(t, []leasedTask{takeSession(t)})
	req := next(t.get(i.Key))
	req.Next = &provider.NextExecution{CodeVersion: codeVersion, Events: [][]byte{[]byte("next")}}
	t.commit(req)
	is(t, "sessions after continue-as-new", heldSessions(t), 1)
	t.steer(i.Key, provider.SteerReset, resetTo("one"))
	is(t, "sessions after a reset", heldSessions(t), 1)
	t.end(t.get(i.Key))
	is(t, "sessions after the end of the instance", heldSessions(t), 0)
}

// A commit of any instance ends the session. One that nobody holds is no error.
func sessionNamed(t *trial) {
	beginIn(t, "i", "s", "s", "t")
	completeAll(t, []leasedTask{takeSession(t)})
	other := t.begin("other")
	req := next(other)
	req.EndSessions = []string{"unknown", "s", "s"}
	t.commit(req)
	is(t, "sessions after the commit", heldSessions(t), 0)
	list := t.fetchTasks(holding("b", 1))
	is(t, "tasks for another owner", events(list), "2")
	completeAll(t, list)
	is(t, "sessions of the new owner, whose session is as long as any", renewSessions(t, "b"), 1)
}

func sessionNamedBusy(t *trial) {
	i := beginIn(t, "i", "s", "s")
	first := takeSession(t)
	req := next(t.get(i.Key))
	req.EndSessions = []string{"s"}
	t.commit(req)
	is(t, "sessions while a task of it is leased", heldSessions(t), 1)
	t.noTask("a task of the session is leased", holding("b", 1))
	completeAll(t, []leasedTask{first})
	is(t, "sessions after the last leased task", heldSessions(t), 0)
	is(t, "tasks for another owner after the last leased task", len(t.fetchTasks(holding("b", 1))), 1)
}

// waitForPlace starts a fetch of owner "a", which may hold one session, that waits.
func waitForPlace(t *trial) func() []leasedTask {
	return parked(t, func() []leasedTask {
		return t.fetchTasks(holding("a", 1), func(r *provider.FetchTasksRequest) { r.Wait = patience })
	})
}

func sessionEndWakes(t *trial) {
	i := beginIn(t, "i", "s")
	completeAll(t, []leasedTask{takeSession(t)})
	beginIn(t, "other", "t")
	place := waitForPlace(t)
	t.end(t.get(i.Key))
	is(t, "tasks of a fetch that waited for a place", len(place()), 1)
}

func sessionNamedWakes(t *trial) {
	i := beginIn(t, "i", "s", "s")
	completeAll(t, []leasedTask{takeSession(t)})
	session := fetchWaiting(t)
	req := next(t.get(i.Key))
	req.EndSessions = []string{"s"}
	t.commit(req)
	is(t, "tasks of a fetch that waited for the session", len(session()), 1)
}
