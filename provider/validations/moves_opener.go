package validations

import "github.com/perdure/perdure/provider"

// prefix returns a prefix with these events.
func prefix(words ...string) (p provider.Prefix) {
	for _, w := range words {
		p.Events = append(p.Events, []byte(w))
	}
	return p
}

// resetOf prepares a reset of a stored instance.
func resetOf(i provider.Instance, p provider.Prefix) provider.ResetRequest {
	return provider.ResetRequest{
		Key: i.Key, Commit: unique(), Expected: i.Version, Name: i.Name, CodeVersion: i.CodeVersion, Prefix: p,
	}
}

// reset makes a reset that must succeed.
func (t *trial) reset(req provider.ResetRequest) provider.Instance {
	res, err := t.Reset(t.ctx, req)
	t.ok(err)
	return res.Instance
}

// forkOf prepares a fork under an ID, for a fetch by named.
func forkOf(id string, p provider.Prefix) provider.ForkRequest {
	create := createRequest(id)
	create.Name, create.Message = "setup-"+id, provider.NewMessage{}
	return provider.ForkRequest{Create: create, Prefix: p}
}

// fork makes a fork that must succeed.
func (t *trial) fork(req provider.ForkRequest) provider.Instance {
	res, err := t.Fork(t.ctx, req)
	t.ok(err)
	t.checkf(res.Created, "Created is false, want true")
	return res.Instance
}

// prefixOfAll returns a prefix with something of each kind.
func prefixOfAll() provider.Prefix {
	p := prefix("started", "two")
	p.Tasks = []provider.NewTask{newTask(2)}
	p.Timers = []provider.Timer{{EventID: 1, Kind: 3, Due: 5, Payload: []byte("timer")}}
	p.Messages = []provider.CarriedMessage{{Message: text("carried"), At: 9}}
	p.CustomStatus = []byte("status")
	p.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}}
	p.Values = []provider.KeyValue{{Key: "v", Value: []byte("value")}}
	return p
}

// opened checks that an instance has opened an execution from prefixOfAll.
func (t *trial) opened(key provider.UUID, execution int64) {
	i := t.get(key)
	t.checkf(i.Execution == execution && i.Status == provider.StatusRunning && i.HistoryLength == 2 && i.HistoryBytes == 10,
		"got %+v, want execution %d, Running, with 2 events of 10 bytes", i, execution)
	t.historyIs(key, execution, "1:started 2:two")
	t.tasksAre(key, "2")
	t.checkf(string(i.CustomStatus) == "status" && len(i.Attributes) == 1 && i.Attributes[0].Name == "a", "got %+v, want the status and the attribute a", i)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: key, Value: "v"})
	t.ok(err)
	t.checkf(res.Value != nil && string(res.Value.Value) == "value", "the value is %+v, want \"value\"", res.Value)
}

// linkOf names a child as the request of its parent's reset does.
func linkOf(child provider.Instance) provider.ChildLink {
	return provider.ChildLink{Key: child.Key, EventID: child.Parent.EventID}
}

// family begins a parent with running children "a" and "b".
func family(t *trial) (parent, a, b provider.Instance) {
	parent = t.begin("parent")
	req := next(parent)
	for n, id := range []string{"a", "b"} {
		start := startOf(parent, id)
		start.Create.Parent.EventID = int64(n + 2)
		req.Starts = append(req.Starts, start)
	}
	t.commit(req)
	return t.get(parent.Key), t.byID("a"), t.byID("b")
}
