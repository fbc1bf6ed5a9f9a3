package validations

import (
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// openerCases checks resets and forks. Those of the prefix itself are in prefixCases.
func openerCases() []testCase {
	const (
		opens   = "Reset closes the current execution of an instance and opens the next one from Prefix, in one transaction."
		closes  = "The old execution ends as with SteerReset, and Event is appended to it first."
		refuses = "The refusals are those of SteerReset with Expected."
		link    = "The parent link of such a child gets the new execution, and the child gets a new Version, so that its turn in flight fails with ErrConflict."
		moved   = "Messages in the inbox that concern such an event of the old execution get the new execution and keep their place."
		neither = "The call returns [ErrConflict] if there is neither: no such message waits, and no running child with the key has this event as its parent link."
		notices = "Notices are delivered as a commit delivers its Sends. A refusal goes into the inbox of the instance."
		forks   = "Fork stores a new instance whose execution 1 opens from Prefix, in one transaction."
		counts  = "IDs, keys, RequestID, Parent and Listener count as in Create. A refused Fork changes nothing."
		ready   = "The instance has no start message. It is ready for a turn at once, even with an empty inbox."
	)
	return []testCase{
		{name: "reset", run: openerReset, rule: opens},
		{name: "reset-racing", run: openerRace, rule: opens},
		{name: "reset-ends-the-old", run: openerEndsOld, rule: closes},
		{name: "reset-of-an-ended-instance", run: openerEnded, rule: closes},
		{name: "reset-refused", run: openerRefused, rule: refuses},
		{name: "reset-again", run: openerAgain, rule: "A repeat under the stored Version succeeds."},
		{name: "reset-once", run: openerOnce, rule: "Request IDs are remembered with those of Steer, so a repeated one changes nothing."},
		{name: "reset-as-another", run: openerAs, rule: "ResetRequest.Name: of the orchestration of the new execution"},
		{name: "reset-level", run: openerLevel, rule: "ResetRequest.EngineLevel: no lower than before while messages wait"},
		{name: "children", run: openerChildren, rule: link},
		{name: "children-tell-the-new-execution", run: openerChildTells, rule: link},
		{name: "child-has-ended", run: openerChildEnded, rule: moved},
		{name: "no-such-child", run: openerNoChild, rule: neither},
		{name: "other-children", run: openerOtherChildren, rule: "All other children stay as they are."},
		{name: "notices", run: openerNotices, rule: notices},
		{name: "fork", run: openerFork, rule: forks},
		{name: "fork-refused", run: openerForkRefused, rule: counts},
		{name: "fork-again", run: openerForkAgain, rule: counts},
		{name: "fork-of-an-ended-id", run: openerForkReplaces, rule: counts},
		{name: "fork-with-parent-and-listener", run: openerForkFamily, rule: counts},
		{name: "fork-is-ready", run: openerForkReady, rule: ready},
		{name: "fork-wakes", run: openerForkWakes, rule: ready},
	}
}

func openerReset(t *trial) {
	i := t.beginTasks(newTask(1))
	commit := unique()
	req := resetOf(i, prefixOfAll())
	req.Commit = commit
	got := t.reset(req)
	is(t, "the version", got.Version, commit)
	t.checkf(got.InboxMessages == 2 && got.ReadyAt > 0 && got.ReadyAt <= 5, "got %+v, want 2 messages, ready since the timer was due", got)
	t.opened(i.Key, 2)
	u := t.fetchOne(named("i"))
	t.mustf(u.payloads() == "timer carried", "got %q, want \"timer carried\"", u.payloads())
	timer := u.Messages[0]
	t.checkf(timer.Timer && timer.Execution == 2 && timer.EventID == 1 && timer.Kind == 3 && timer.VisibleAt == 5, "got %+v, want the timer of event 1", timer)
	task := t.fetchTask()
	t.checkf(task.Execution == 2 && task.EventID == 2 && task.Attempt == 1 && task.Deliveries == 1, "got %+v, want the first attempt of event 2", task)
	t.ok(t.report(task, provider.TaskComplete).Err)
	t.commit(commitOf(u, "three"))
	t.historyIs(i.Key, 2, "1:started 2:two 3:three")
	t.historyIs(i.Key, 1, "1:started")
}

// openerRace checks that one of several resets from the same state is stored, and none in part.
func openerRace(t *trial) {
	i := t.begin("i")
	var stored atomic.Int64
	t.parallel(8, func(n int) {
		req := resetOf(i, prefix("started", fmt.Sprint("r", n)))
		req.Prefix.Tasks = []provider.NewTask{newTask(2)}
		req.Prefix.Messages = []provider.CarriedMessage{{Message: text("m"), At: 1}}
		if _, err := t.Reset(t.ctx, req); err == nil {
			stored.Add(1)
		} else {
			t.want(err, provider.ErrConflict)
		}
	})
	is(t, "stored resets", stored.Load(), 1)
	got := t.get(i.Key)
	t.checkf(got.Execution == 2 && got.HistoryLength == 2 && got.InboxMessages == 1, "got %+v, want execution 2 with 2 events and a message", got)
	t.tasksAre(i.Key, "2")
}

func openerEndsOld(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	task := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	req := next(i)
	req.Timers = []provider.Timer{{EventID: 5, Due: 1, Payload: []byte("old timer")}}
	t.commit(req)
	t.send(i.Key, text("m"))
	t.block(t.fetchOne(named("i")), false)
	u := t.fetchOne(named("i"))
	r := resetOf(t.get(i.Key), prefix("one"))
	r.Event = []byte("reset")
	got := t.reset(r)
	t.checkf(got.Execution == 2 && got.Deliveries == 0 && got.Blocked == nil && got.InboxMessages == 1,
		"got %+v, want execution 2 with one message, not Blocked, with no deliveries", got)
	t.historyIs(i.Key, 1, "1:started 2:reset")
	t.historyIs(i.Key, 2, "1:one")
	t.tasksAre(i.Key, "")
	t.want(t.release(u), provider.ErrLeaseLost)
	res := t.renew(renewal(task))
	t.checkf(res.State == terminal(provider.StatusReset), "the renewal returned %+v, want Terminal with status Reset", res)
	t.refused(commitOf(u, "late"), provider.ErrConflict)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "m")
}

func openerEnded(t *trial) {
	i := t.end(t.begin("i"))
	req := resetOf(i, prefixOfAll())
	req.ID, req.Key = "i", provider.UUID{}
	t.reset(req)
	t.opened(i.Key, 2)
	got := t.get(i.Key)
	t.checkf(got.EndedAt == 0 && got.Result == nil, "got %+v, want neither end nor result", got)
	read, err := t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: i.Key, Execution: 1, From: 1})
	t.ok(err)
	is(t, "the status of the old execution", read.Status, provider.StatusCompleted)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "timer carried")
}

func openerRefused(t *trial) {
	i := t.begin("i")
	stale := i
	i = t.steer(i.Key, provider.SteerSuspend)
	refuse := func(req provider.ResetRequest, sentinel error) {
		req.Event = []byte("e")
		_, err := t.Reset(t.ctx, req)
		t.want(err, sentinel)
	}
	t.unchanged(i.Key, func() {
		refuse(resetOf(stale, prefixOfAll()), provider.ErrConflict)
		gone := resetOf(i, prefixOfAll())
		gone.Key = unique()
		refuse(gone, provider.ErrNotFound)
	})
	old := t.end(t.begin("old"))
	t.create("old", func(r *provider.CreateRequest) { r.Policy = provider.IDReplaceEnded })
	t.unchanged(old.Key, func() { refuse(resetOf(old, prefixOfAll()), provider.ErrExists) })
}

func openerAgain(t *trial) {
	i := t.begin("i")
	req := resetOf(i, prefixOfAll())
	t.reset(req)
	t.unchanged(i.Key, func() { is(t, "the version that a repeat returns", t.reset(req).Version, req.Commit) })
	t.steer(i.Key, provider.SteerResume)
	t.unchanged(i.Key, func() {
		_, err := t.Reset(t.ctx, req)
		t.want(err, provider.ErrConflict)
	})
}

func openerOnce(t *trial) {
	i := t.begin("i")
	request := func(id string) provider.ResetRequest {
		req := resetOf(t.get(i.Key), prefixOfAll())
		req.RequestID = id
		return req
	}
	t.reset(request("r"))
	t.steer(i.Key, provider.SteerResume, requested("s"))
	t.unchanged(i.Key, func() {
		t.reset(request("r"))
		t.reset(request("s"))
		t.steer(i.Key, provider.SteerSuspend, requested("r"))
	})
	is(t, "the execution after another request", t.reset(request("other")).Execution, 3)
}

func openerAs(t *trial) {
	i := t.begin("i")
	fetched := parked(t, func() turn {
		return t.fetchOne(func(r *provider.FetchTurnsRequest) {
			r.Capabilities = []provider.Capability{{Name: "other", CodeVersion: "v2"}}
		})
	})
	req := resetOf(i, prefix("one"))
	req.Name, req.CodeVersion = "other", "v2"
	got := t.reset(req)
	t.checkf(got.Name == "other" && got.CodeVersion == "v2", "got %q of version %q, want other of v2", got.Name, got.CodeVersion)
	is(t, "the execution of the fetched turn", fetched().Instance.Execution, 2)
}

func openerLevel(t *trial) {
	level := func(want, of int64, change func(*provider.ResetRequest)) {
		i := t.begin(fresh(), func(r *provider.CommitTurnRequest) { r.EngineLevel = 4 })
		if of > 0 {
			t.send(i.Key, text("waits"))
		}
		req := resetOf(i, prefix("one"))
		req.EngineLevel = 2
		change(&req)
		is(t, "the engine level", t.reset(req).EngineLevel, want)
	}
	level(2, 0, func(*provider.ResetRequest) {})
	level(4, 1, func(*provider.ResetRequest) {})
	level(3, 0, func(r *provider.ResetRequest) {
		m := text("m")
		m.EngineLevel = 3
		r.Prefix.Messages = []provider.CarriedMessage{{Message: m, At: 1}}
	})
}

func openerChildren(t *trial) {
	i, a, b := family(t)
	u := t.fetchOne(func(r *provider.FetchTurnsRequest) { r.Max = 1 })
	req := resetOf(i, prefix("one"))
	req.Children = []provider.ChildLink{linkOf(a), linkOf(b)}
	t.reset(req)
	for _, was := range []provider.Instance{a, b} {
		got := t.get(was.Key)
		want := was.Parent
		want.Execution = 2
		t.checkf(got.Parent == want, "the parent of %q is %+v, want %+v", was.ID, got.Parent, want)
		t.checkf(got.Version != was.Version && got.UpdatedAt >= was.UpdatedAt, "%q has version %s, want a new one", was.ID, got.Version)
		t.checkf(got.Status == provider.StatusRunning && got.Execution == 1 && got.InboxMessages == 1, "got %+v, want %q to run on", got, was.ID)
	}
	t.refused(commitOf(u, "late"), provider.ErrConflict)
	t.end(t.get(a.Key))
}

// openerChildTells checks the link by the notice to the parent, and that a child can move twice.
func openerChildTells(t *trial) {
	i, a, b := family(t)
	for range 2 {
		req := resetOf(t.get(i.Key), prefix("one"))
		req.Children = []provider.ChildLink{linkOf(a), linkOf(b)}
		t.reset(req)
	}
	t.steer(a.Key, provider.SteerTerminate, notices)
	u := t.fetchOne(named("parent"))
	t.mustf(len(u.Messages) == 1, "the parent got %d messages, want 1", len(u.Messages))
	m := u.Messages[0]
	t.checkf(m.Execution == 3 && m.EventID == a.Parent.EventID, "the parent got %+v, want the notice for event %d of execution 3", m, a.Parent.EventID)
}

func openerChildEnded(t *trial) {
	i, a, b := family(t)
	t.send(i.Key, text("before"))
	t.steer(a.Key, provider.SteerTerminate, notices)
	t.send(i.Key, text("after"))
	other := text("other")
	other.Execution, other.EventID = 1, 9
	t.send(i.Key, other)
	ended := t.get(a.Key)
	req := resetOf(i, prefix("one"))
	req.Children = []provider.ChildLink{linkOf(a), linkOf(b)}
	t.reset(req)
	u := t.fetchOne(named("parent"))
	t.mustf(u.payloads() == "before to parent after other", "the parent has %q, want \"before to parent after other\"", u.payloads())
	is(t, "the execution of the child's message", u.Messages[1].Execution, 2)
	is(t, "the execution of another message", u.Messages[3].Execution, 1)
	is(t, "the version of the ended child", t.get(a.Key).Version, ended.Version)
	is(t, "the execution of the running child's parent", t.get(b.Key).Parent.Execution, 2)
}

func openerNoChild(t *trial) {
	i, a, b := family(t)
	t.steer(a.Key, provider.SteerTerminate) // and nobody was told
	stranger := t.begin("stranger")
	wrong := linkOf(b)
	wrong.EventID += 7
	for _, key := range []provider.UUID{i.Key, b.Key, stranger.Key} {
		t.unchanged(key, func() {
			for _, link := range []provider.ChildLink{linkOf(a), {Key: unique(), EventID: 9}, {Key: stranger.Key, EventID: 9}, wrong} {
				req := resetOf(i, prefixOfAll())
				req.Event = []byte("reset")
				req.Children = []provider.ChildLink{linkOf(b), link}
				_, err := t.Reset(t.ctx, req)
				t.want(err, provider.ErrConflict)
			}
		})
	}
}

func openerOtherChildren(t *trial) {
	i, a, b := family(t)
	req := resetOf(i, prefix("one"))
	req.Children = []provider.ChildLink{linkOf(b)}
	t.unchanged(a.Key, func() { t.reset(req) })
	t.steer(a.Key, provider.SteerTerminate, notices)
	is(t, "messages of a child that did not move", t.get(i.Key).InboxMessages, 0)
}

func openerNotices(t *trial) {
	i, to := t.begin("i"), t.begin("to")
	ended := t.end(t.begin("ended"))
	refused := text("refused")
	req := resetOf(i, prefix("one"))
	req.Notices = []provider.OutMessage{
		{Key: to.Key, Message: text("cancel")}, {Key: ended.Key, Message: text("lost"), Refused: &refused}, {ID: "to", Message: text("again")},
	}
	stale := req
	stale.Expected = unique()
	_, err := t.Reset(t.ctx, stale)
	t.want(err, provider.ErrConflict)
	t.heard(to, "")
	t.reset(req)
	t.heard(to, "cancel again")
	t.heard(i, "refused")
}
