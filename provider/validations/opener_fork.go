package validations

import (
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func openerFork(t *trial) {
	origin := t.begin("origin")
	req := forkOf("i", prefixOfAll())
	req.Create.EngineLevel, req.Create.RequestID = 2, "r"
	t.unchanged(origin.Key, func() {
		got := t.fork(req)
		c := req.Create
		t.checkf(got.ID == "i" && got.Key == c.Key && got.Version == c.Commit && got.Name == c.Name && got.CodeVersion == c.CodeVersion &&
			got.EngineLevel == 2 && got.RequestID == "r" && got.CreatedAt > 0 && got.UpdatedAt == got.CreatedAt && got.EndedAt == 0,
			"got %+v, want the instance of the request", got)
	})
	t.opened(req.Create.Key, 1)
	t.listed("i", req.Create.Key)
	u := t.fetchOne(named("i"), upTo(2))
	t.mustf(u.payloads() == "timer carried", "got %q, want \"timer carried\"", u.payloads())
	t.checkf(u.Messages[0].Timer && u.Messages[0].Execution == 1, "got %+v, want a timer of execution 1", u.Messages[0])
	t.ok(t.report(t.fetchTask(), provider.TaskComplete).Err)
	t.commit(commitOf(u, "three"))
	t.historyIs(req.Create.Key, 1, "1:started 2:two 3:three")
}

// listed checks that an ID names the key.
func (t *trial) listed(id string, key provider.UUID) { is(t, "the key under "+id, t.byID(id).Key, key) }

func openerForkRefused(t *trial) {
	running, ended := t.begin("slot!running"), t.end(t.begin("slot!ended"))
	refuse := func(change func(*provider.CreateRequest), sentinel error) {
		req := forkOf("slot!i", prefixOfAll())
		change(&req.Create)
		_, err := t.Fork(t.ctx, req)
		t.want(err, sentinel)
	}
	for _, i := range []provider.Instance{running, ended} {
		t.unchanged(i.Key, func() {
			refuse(func(r *provider.CreateRequest) { r.ID = i.ID }, provider.ErrExists)
			refuse(func(r *provider.CreateRequest) { r.Key = i.Key }, provider.ErrExists)
		})
	}
	t.unchanged(running.Key, func() {
		refuse(func(r *provider.CreateRequest) { r.ID, r.Policy = "slot!running", provider.IDReplaceEnded }, provider.ErrExists)
		refuse(func(r *provider.CreateRequest) {
			r.Parent = provider.Parent{Key: unique(), ID: "gone", Execution: 1, EventID: 1}
		}, provider.ErrNotFound)
	})
	_, err := t.Get(t.ctx, provider.GetRequest{ID: "slot!i"})
	t.want(err, provider.ErrNotFound)
	is(t, "tasks of refused forks", len(t.fetchTasks()), 0)
}

func openerForkAgain(t *trial) {
	req := forkOf("i", prefixOfAll())
	req.Create.RequestID = "r"
	i := t.fork(req)
	again := req
	again.Create.Key, again.Create.Commit = newKey("i"), unique()
	t.unchanged(i.Key, func() {
		is(t, "the key that a repeat returns", t.fork(req).Key, i.Key)
		is(t, "the key that a repeat returns", t.fork(again).Key, i.Key)
	})
	var made atomic.Int64
	t.parallel(8, func(int) {
		if _, err := t.Fork(t.ctx, forkOf("raced", prefixOfAll())); err == nil {
			made.Add(1)
		} else {
			t.want(err, provider.ErrExists)
		}
	})
	is(t, "forks under one ID", made.Load(), 1)
	is(t, "messages of the fork", t.byID("raced").InboxMessages, 2)
}

func openerForkReplaces(t *trial) {
	old := t.end(t.begin("i"))
	req := forkOf("i", prefixOfAll())
	req.Create.Policy = provider.IDReplaceEnded
	t.unchanged(old.Key, func() { t.fork(req) })
	t.listed("i", req.Create.Key)
	t.opened(req.Create.Key, 1)
}

func openerForkFamily(t *trial) {
	parent, to := t.begin("parent"), t.begin("to")
	req := forkOf("i", prefix("started"))
	req.Create.Parent = provider.Parent{Key: parent.Key, ID: "parent", Execution: 1, EventID: 4}
	heardBy(to.Key, "ended")(&req.Create)
	is(t, "the parent", t.fork(req).Parent, req.Create.Parent)
	t.steer(req.Create.Key, provider.SteerTerminate, notices)
	t.heard(to, "ended")
	t.heard(parent, "to parent")
}

func openerForkReady(t *trial) {
	got := t.fork(forkOf("i", prefix("started")))
	t.checkf(got.InboxMessages == 0 && got.ReadyAt == got.CreatedAt, "got %+v, want no messages, ready at its creation", got)
	u := t.fetchOne(named("i"))
	t.checkf(len(u.Messages) == 0 && u.Instance.HistoryLength == 1 && u.Instance.Deliveries == 1, "got %+v, want a first delivery without messages", u)
	t.commit(commitOf(u, "two"))
	is(t, "ReadyAt after a commit", t.get(got.Key).ReadyAt, 0)
	t.noTurn("the inbox is empty", named("i"))
	t.send(got.Key, text("m"))
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "m")
}

func openerForkWakes(t *trial) {
	fetched := parked(t, func() turn { return t.fetchOne(named("i")) })
	task := parked(t, func() leasedTask { return t.fetchTask() })
	p := prefix("started")
	p.Tasks = []provider.NewTask{newTask(1)}
	i := t.fork(forkOf("i", p))
	is(t, "the fetched turn", fetched().Instance.Key, i.Key)
	is(t, "the fetched task", task().Key, i.Key)
}
