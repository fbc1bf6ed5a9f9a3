package validations

import (
	"errors"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func createCases() []testCase {
	return []testCase{
		{name: "stores", run: createStores, rule: "Create stores a new instance together with its start message, atomically."},
		{name: "delayed-start", run: createDelayed, rule: "Create stores a new instance together with its start message, atomically."},
		{name: "reject", run: createReject, rule: "Reject returns [ErrExists], an [*ExistsError] that names the instance."},
		{name: "use-existing", run: createUseExisting, rule: "UseExisting returns the existing instance, with Created false."},
		{name: "replace-ended", run: createReplace, rule: "ReplaceEnded creates a new key if the old instance has ended"},
		{name: "replace-running", run: createReplaceRunning, rule: "and otherwise returns ErrExists."},
		{name: "replace-that-one", run: createReplaceThat, rule: "CreateRequest.Replaces: IDReplaceEnded: only the instance with this key; zero: any"},
		{name: "replaced-is-readable", run: createReplacedReadable, rule: "The replaced instance stays readable by its key."},
		{
			name: "repeated-request", run: createRepeat,
			rule: "A Create that repeats the RequestID of the instance under that ID returns the instance with Created true and changes nothing.",
		},
		{name: "race", run: createRace, rule: "The storage decides the ID conflict policy."},
		{name: "race-of-one-request", run: createRepeatRace, rule: "So a caller may retry after an unknown outcome."},
		{name: "only-create-inserts", run: createOnly, rule: "Only Create, and the Starts of a commit, insert instances."},
		{name: "keys-of-each-version", run: createKeys, rule: anyKey},
		{name: "keys-of-children", run: createChildKeys, rule: anyKey},
		{name: "names-by-bytes", run: createBytes, rule: "compared byte by byte."},
	}
}

func createStores(t *trial) {
	req := createRequest("i")
	req.EngineLevel, req.RequestID = 3, "r"
	req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 5}}
	res, err := t.Create(t.ctx, req)
	t.ok(err)
	i := res.Instance
	t.checkf(res.Created && res.Now > 0, "created %v at %d, want true at a time", res.Created, res.Now)
	t.checkf(i.ID == "i" && i.Key == req.Key && i.Version == req.Commit && i.Name == orchestration && i.CodeVersion == codeVersion,
		"names of %+v, want those of the request", i)
	t.checkf(i.Status == provider.StatusRunning && i.Execution == 1 && i.HistoryLength == 0 && i.EngineLevel == 3,
		"state of %+v, want Running, execution 1, no history, level 3", i)
	t.checkf(len(i.Attributes) == 1 && i.Attributes[0] == req.Attributes[0], "attributes %+v, want those of the request", i.Attributes)
	t.checkf(i.InboxMessages == 1 && i.ReadyAt != 0 && i.ReadyAt <= res.Now && i.CreatedAt == res.Now && i.EndedAt == 0,
		"times or inbox of %+v, want one message, ready and created now", i)
	u := t.fetchOne(func(r *provider.FetchTurnsRequest) { r.EngineLevel = 3 })
	t.checkf(u.payloads() == "start" && u.Messages[0].Kind == 7 && u.Messages[0].ID > 0, "messages %+v, want the start message of kind 7 with an ID", u.Messages)
}

func createDelayed(t *trial) {
	i := t.create("i", func(r *provider.CreateRequest) { r.Message.Delay = long })
	t.checkf(i.ReadyAt > i.CreatedAt, "ready at %d, created at %d, want ready later", i.ReadyAt, i.CreatedAt)
	t.noTurn("the start message is delayed")
}

func createReject(t *trial) {
	old := t.create("i")
	t.unchanged(old.Key, func() {
		_, err := t.Create(t.ctx, createRequest("i"))
		t.want(err, provider.ErrExists)
		exists, ok := errors.AsType[*provider.ExistsError](err)
		t.mustf(ok, "got error %v, want an *ExistsError", err)
		t.checkf(exists.ID == "i" && exists.Key == old.Key && exists.Status == provider.StatusRunning,
			"the error names %+v, want the running instance i with its key", exists)
	})
}

func createUseExisting(t *trial) {
	old := t.create("i")
	t.unchanged(old.Key, func() {
		req := createRequest("i")
		req.Policy = provider.IDUseExisting
		res, err := t.Create(t.ctx, req)
		t.ok(err)
		t.checkf(!res.Created && res.Instance.Key == old.Key, "created %v, key %s, want false and %s", res.Created, res.Instance.Key, old.Key)
	})
}

func replace(r *provider.CreateRequest) { r.Policy = provider.IDReplaceEnded }

func createReplace(t *trial) {
	old := t.end(t.begin("i"))
	i := t.create("i", replace)
	t.checkf(i.Key != old.Key && i.Status == provider.StatusRunning, "got %+v, want a running instance with a new key", i)
	res, err := t.Get(t.ctx, provider.GetRequest{ID: "i"})
	t.ok(err)
	t.checkf(res.Instance.Key == i.Key, "the ID names %s, want the new key %s", res.Instance.Key, i.Key)
}

func createReplaceRunning(t *trial) {
	old := t.begin("i")
	t.unchanged(old.Key, func() {
		req := createRequest("i")
		req.Policy = provider.IDReplaceEnded
		_, err := t.Create(t.ctx, req)
		t.want(err, provider.ErrExists)
	})
}

func createReplaceThat(t *trial) {
	req := createRequest("i")
	req.Policy, req.Replaces = provider.IDReplaceEnded, unique()
	res, err := t.Create(t.ctx, req) // the ID names nothing, as after a delete
	t.ok(err)
	first := res.Instance
	t.steer(first.Key, provider.SteerTerminate)
	second := t.create("i", replace)
	t.steer(second.Key, provider.SteerTerminate)
	t.unchanged(second.Key, func() {
		late := createRequest("i")
		late.Policy, late.Replaces = provider.IDReplaceEnded, first.Key
		_, err := t.Create(t.ctx, late)
		t.want(err, provider.ErrExists)
		exists, ok := errors.AsType[*provider.ExistsError](err)
		t.checkf(ok && exists.Key == second.Key, "the error %v names another instance, want %s", err, second.Key)
	})
	third := t.create("i", replace, func(r *provider.CreateRequest) { r.Replaces = second.Key })
	t.checkf(third.Status == provider.StatusRunning, "the third instance is %s", third.Status)
}

func createReplacedReadable(t *trial) {
	old := t.end(t.begin("i"))
	t.unchanged(old.Key, func() { t.create("i", replace) })
	t.historyIs(old.Key, 1, "1:started")
}

func createRepeat(t *trial) {
	req := createRequest("i")
	req.RequestID = "r"
	first, err := t.Create(t.ctx, req)
	t.ok(err)
	t.unchanged(req.Key, func() {
		req.Key, req.Commit = newKey("i"), unique()
		again, err := t.Create(t.ctx, req)
		t.ok(err)
		t.checkf(again.Created && again.Instance.Key == first.Instance.Key,
			"created %v, key %s, want true and the key of the first request", again.Created, again.Instance.Key)
	})
	req.RequestID = "another"
	_, err = t.Create(t.ctx, req)
	t.want(err, provider.ErrExists)
}

func createRace(t *trial) {
	var created atomic.Int64
	t.parallel(16, func(int) {
		_, err := t.Create(t.ctx, createRequest("i"))
		if err == nil {
			created.Add(1)
			return
		}
		t.want(err, provider.ErrExists)
	})
	t.checkf(created.Load() == 1, "%d creators won, want 1", created.Load())
	is(t, "instances with a turn", len(t.fetch()), 1)
}

func createRepeatRace(t *trial) {
	t.parallel(16, func(int) {
		req := createRequest("i")
		req.RequestID = "r"
		res, err := t.Create(t.ctx, req)
		t.ok(err)
		t.checkf(res.Created, "Created is false for a repeated request, want true")
	})
	count, err := t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{Replaced: true}})
	t.ok(err)
	t.checkf(count.Count == 1, "%d instances, want 1", count.Count)
}

func createOnly(t *trial) {
	ghost := provider.Instance{ID: "ghost", Key: unique(), Execution: 1, Version: unique()}
	_, err := t.CommitTurn(t.ctx, next(ghost, "event"))
	t.want(err, provider.ErrConflict)
	_, err = t.Send(t.ctx, provider.SendRequest{ID: "ghost", Message: text("m")})
	t.want(err, provider.ErrNotFound)
	_, err = t.Get(t.ctx, provider.GetRequest{ID: "ghost"})
	t.want(err, provider.ErrNotFound)
}

func createBytes(t *trial) {
	ids := []string{"a", "A", "a ", "ä", "a\u0308", "%", "_"}
	for _, id := range ids {
		t.create(id)
	}
	for _, id := range ids {
		res, err := t.Get(t.ctx, provider.GetRequest{ID: id})
		t.ok(err)
		t.checkf(res.Instance.ID == id, "the ID %q names %q, want %q", id, res.Instance.ID, id)
	}
}
