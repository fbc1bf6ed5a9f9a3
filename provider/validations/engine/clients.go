package engine

import (
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func clientScenarios() []scenario {
	return []scenario{
		{name: "waits", run: waits, two: true, carries: []string{"Get.WaitEnded", "Get.Wait", "Create", "Send"}},
		{name: "ids", run: ids, carries: []string{"Create.Policy", "Create.RequestID", "Get.Key", "Send.Key"}},
	}
}

// addEcho registers "main", which returns its input and an event.
func addEcho(t *trial, reg *runtime.Registry) {
	addOrchestration(t, reg, "main", func(ctx *octx, in string) (string, error) {
		event, err := orchestration.Events[string](ctx, "go").Receive(ctx)
		return in + event, err
	})
}

// waits begin before there is a node, while it works, and after the end, in two clients.
func waits(t *trial) {
	const waiters = 6
	reg := runtime.NewRegistry()
	addEcho(t, reg)
	h := start[string](t, "main", "said", client.WithID("main"))
	far, err := client.Lookup[string](t.ctx, t.newClient(t.other), "main")
	t.ok(err)
	t.parallel(waiters+1, waiters+1, func(i int) {
		switch {
		case i == waiters:
			t.node(reg)
			t.ok(far.Raise(t.ctx, "go", " and done"))
		case i%2 == 0:
			completes(t, h, "said and done")
		default:
			completes(t, far, "said and done")
		}
	})
	completes(t, far, "said and done")
}

// ids name one instance after the other. Handles stay with theirs.
func ids(t *trial) {
	reg := runtime.NewRegistry()
	addEcho(t, reg)
	t.node(reg)
	old := start[string](t, "main", "old", client.WithID("id"), client.WithRequestID("request 1"))
	same := start[string](t, "main", "old", client.WithID("id"), client.WithRequestID("request 1"))
	t.checkf(same == old, "the same request made another instance: %v", same.Key())
	_, err := client.StartNamed[string](t.ctx, t.client, "main", "new", client.WithID("id"))
	t.want(err, client.ErrExists)
	_, err = client.StartNamed[string](t.ctx, t.client, "main", "new", client.WithID("id"), client.WithIDPolicy(client.ReplaceEnded))
	t.want(err, client.ErrExists)
	used := start[string](t, "main", "new", client.WithID("id"), client.WithIDPolicy(client.UseExisting))
	t.checkf(used.Key() == old.Key(), "UseExisting answers %v, want the instance that is there, %v", used.Key(), old.Key())
	t.ok(old.Raise(t.ctx, "go", " one"))
	completes(t, old, "old one")

	successor := start[string](t, "main", "new", client.WithID("id"), client.WithIDPolicy(client.ReplaceEnded))
	t.want(old.Raise(t.ctx, "go", " one"), client.ErrEnded)
	t.raise("id", "go", " one")
	completes(t, successor, "new one")
	completes(t, old, "old one")
	if list := events(t, old, 1); len(list) != 3 {
		t.errorf("the history of the replaced instance has %d events, want 3: %+v", len(list), list)
	}
}
