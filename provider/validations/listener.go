package validations

import "github.com/perdure/perdure/provider"

// The sentence about a listener that most cases check.
const tellsListener = "A Listener gets its Message when the instance ends, in the same transaction: by a commit, by Terminate, or by a Delete before its end."

func listenerCases() []testCase {
	return []testCase{
		{name: "listener-of-a-commit", run: listenerOfCommit, rule: tellsListener},
		{name: "listener-of-a-first-turn", run: listenerOfFirst, broad: true, rule: tellsListener},
		{name: "listener-of-a-child", run: listenerOfChild, rule: tellsListener},
		{name: "listener-of-a-termination", run: listenerOfTermination, rule: tellsListener},
		{name: "listener-of-a-fetched-instance", run: listenerOfFetched, rule: tellsListener},
		{name: "listener-and-continue-as-new", run: listenerContinues, rule: "Continue-as-new is no end."},
		{name: "listener-after-a-reset", run: listenerAfterReset, rule: "After a Reset, the next end delivers the message again."},
		{
			name: "listener-that-cannot-be-told", run: listenerDropped,
			rule: "It is dropped if the listener accepts no messages, or if Message.Execution is neither 0 nor the current execution of the listener.",
		},
		{name: "listener-of-an-existing-instance", run: listenerOfExisting, rule: "An existing instance keeps its own."},
		{name: "listener-is-told-later", run: listenerLater, rule: "Listener.Message: its Delay counts from the end"},
	}
}

func cleanListeners() []testCase {
	return []testCase{
		{name: "listener-of-a-deletion", run: listenerOfDeletion, rule: tellsListener},
		{name: "listener-is-no-parent", run: listenerNoParent, rule: "A listener is no parent: deleting either leaves the other."},
	}
}

func transactionListener() []testCase {
	return []testCase{{name: "listener", run: listenerIn, rule: tellsListener, lacks: lacking[provider.Transactor], within: true}}
}

// heardBy makes another instance the listener of a new one.
func heardBy(key provider.UUID, word string) func(*provider.CreateRequest) {
	return func(r *provider.CreateRequest) { r.Listener = &provider.Listener{Key: key, Message: text(word)} }
}

// heard checks the messages of an instance that begin made, and consumes them.
func (t *trial) heard(i provider.Instance, want string) {
	if n := t.get(i.Key).InboxMessages; want == "" {
		is(t, "the messages to "+i.ID, n, 0)
		return
	}
	u := t.fetchOne(named(i.ID), upTo(9))
	is(t, "the messages to "+i.ID, u.payloads(), want)
	t.commit(commitOf(u))
}

func listenerOfCommit(t *trial) {
	to := t.begin("to")
	for _, status := range []provider.Status{provider.StatusCompleted, provider.StatusFailed, provider.StatusCancelled, provider.StatusTerminated} {
		i := t.create(fresh(), heardBy(to.Key, status.String()), func(r *provider.CreateRequest) {
			r.Listener.Message.EventID, r.Listener.Message.EngineLevel = 9, int64(status)
		})
		req := next(i)
		req.Status, req.CloseInbox = status, "test"
		stale := req
		stale.Length++
		t.refused(stale, provider.ErrConflict)
		t.heard(to, "")
		t.commit(req)
		t.commit(req)
		t.levelIs("the message", to.Key, int64(status))
		u := t.fetchOne(named("to"), upTo(9))
		t.mustf(u.payloads() == status.String(), "the listener got %q, want %q", u.payloads(), status)
		m := u.Messages[0]
		t.checkf(m.Kind == 7 && m.EventID == 9 && m.Execution == 0, "got %+v, want the fields of the start", m)
		t.commit(commitOf(u))
	}
}

func listenerOfFirst(t *trial) {
	to := t.begin("to")
	req := firstRequest("i")
	heardBy(to.Key, "ended")(&req)
	createFirst(t, req)
	t.heard(to, "")
	t.end(t.get(req.Key))
	t.heard(to, "ended")
}

func listenerOfChild(t *trial) {
	to, i := t.begin("to"), t.begin("i")
	req := next(i)
	start := startOf(i, "child")
	heardBy(to.Key, "ended")(&start.Create)
	req.Starts = []provider.Start{start}
	t.commit(req)
	t.end(t.get(start.Create.Key))
	t.heard(to, "ended")
}

func listenerOfTermination(t *trial) {
	to := t.begin("to")
	i := t.create("i", heardBy(to.Key, "ended"))
	t.steer(i.Key, provider.SteerSuspend)
	t.heard(to, "")
	req := provider.SteerRequest{Key: i.Key, Action: provider.SteerTerminate, Commit: unique()}
	for range 2 {
		_, err := t.Steer(t.ctx, req)
		t.ok(err)
	}
	t.heard(to, "ended")
}

func listenerOfDeletion(t *trial) {
	to := t.begin("to")
	remove := func(key provider.UUID) {
		_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: key, Force: true})
		t.ok(err)
	}
	running := t.create("running", heardBy(to.Key, "running"))
	remove(running.Key)
	t.heard(to, "running")

	ended := t.create("ended", heardBy(to.Key, "ended"))
	t.end(ended)
	t.heard(to, "ended")
	remove(ended.Key)
	t.heard(to, "")

	parent := t.create("parent")
	child := createRequest("child")
	child.Parent = provider.Parent{Key: parent.Key, ID: parent.ID, Execution: 1, EventID: 3, Close: provider.CloseAbandon}
	heardBy(to.Key, "child")(&child)
	_, err := t.Create(t.ctx, child)
	t.ok(err)
	remove(parent.Key)
	t.heard(to, "child")
}

// A store that remembers what a fetch returned remembers that somebody listens.
func listenerOfFetched(t *trial) {
	to := t.begin("to")
	t.create("committed", heardBy(to.Key, "committed"))
	req := commitOf(t.fetchOne())
	req.Status, req.CloseInbox = provider.StatusCompleted, "test"
	t.commit(req)
	t.heard(to, "committed")

	i := t.create("terminated", heardBy(to.Key, "terminated"))
	t.fetchOne()
	t.steer(i.Key, provider.SteerTerminate)
	t.heard(to, "terminated")
}

func listenerContinues(t *trial) {
	to := t.begin("to")
	i := t.continueAsNew(t.create("i", heardBy(to.Key, "ended")))
	t.heard(to, "")
	t.end(t.continueAsNew(i))
	t.heard(to, "ended")
}

func listenerAfterReset(t *trial) {
	to := t.begin("to")
	i := t.end(t.create("i", heardBy(to.Key, "ended")))
	t.heard(to, "ended")
	i = t.steer(i.Key, provider.SteerReset)
	t.heard(to, "")
	t.end(i)
	t.heard(to, "ended")
}

func listenerDropped(t *trial) {
	ended := t.end(t.begin("over"))
	t.unchanged(ended.Key, func() {
		for _, key := range []provider.UUID{unique(), ended.Key} {
			t.end(t.create(fresh(), heardBy(key, "ended")))
		}
		self := createRequest(fresh())
		heardBy(self.Key, "ended")(&self)
		res, err := t.Create(t.ctx, self)
		t.ok(err)
		is(t, "the messages that an ended instance has from itself", t.end(res.Instance).InboxMessages, 0)
	})
	to := t.continueAsNew(t.begin("to"))
	for execution, want := range map[int64]string{1: "", 2: "now", 3: ""} {
		t.end(t.create(fresh(), heardBy(to.Key, "now"), func(r *provider.CreateRequest) { r.Listener.Message.Execution = execution }))
		t.heard(to, want)
	}
	t.steer(to.Key, provider.SteerSuspend)
	t.end(t.create(fresh(), heardBy(to.Key, "paused")))
	t.steer(to.Key, provider.SteerResume)
	t.heard(to, "paused")
}

func listenerNoParent(t *trial) {
	to := t.begin("to")
	i := t.create("i", heardBy(to.Key, "ended"))
	t.checkf(i.Parent == provider.Parent{}, "the parent is %+v, want none", i.Parent)
	t.unchanged(i.Key, func() {
		t.end(to)
		res, err := t.Delete(t.ctx, provider.DeleteRequest{Key: to.Key})
		t.ok(err)
		is(t, "deleted instances", res.Instances, 1)
	})
	t.end(i) // nobody is told
	to = t.begin("to")
	j := t.create("j", heardBy(to.Key, "ended"))
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: j.Key, Force: true})
	t.ok(err)
	t.heard(to, "ended")
}

func listenerOfExisting(t *trial) {
	to, other := t.begin("to"), t.begin("other")
	i := t.create("i", heardBy(to.Key, "ended"))
	req := join("i", "r")
	heardBy(other.Key, "ended")(&req)
	t.joins(i.Key, req)
	t.end(i)
	t.heard(other, "")
	t.heard(to, "ended")
}

func listenerLater(t *trial) {
	to := t.begin("to")
	i := t.create("i", heardBy(to.Key, "ended"), func(r *provider.CreateRequest) { r.Listener.Message.Delay = long })
	i = t.end(i)
	ready := t.get(to.Key).ReadyAt
	t.checkf(ready == i.EndedAt.Add(long), "the listener is ready at %d, want %v after the end at %d", ready, long, i.EndedAt)
	t.noTurn("the message is delayed", named("to"))
}

func listenerIn(t *trial) {
	to := t.begin("to")
	var i provider.Instance
	inTransaction(t, true, func(tx provider.Tx) { i = createIn(t, tx, "i", heardBy(to.Key, "ended")).Instance })
	t.end(t.get(i.Key))
	t.heard(to, "ended")
}
