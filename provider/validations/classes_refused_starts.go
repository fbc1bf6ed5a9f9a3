package validations

import (
	"errors"

	"github.com/perdure/perdure/provider"
)

// refusedMessages repeats a start with messages that was refused. It is delivered once nothing is in its way.
func refusedMessages(t *trial) {
	i := t.end(t.begin("i"))
	req := join("i", "r", "m")
	t.wholeUnchanged("messages to an ended instance", func() {
		for range 2 {
			_, err := t.Create(t.ctx, req)
			t.want(err, provider.ErrEnded)
		}
	})
	t.steer(i.Key, provider.SteerReset)
	t.joins(i.Key, req)
	t.joins(i.Key, req)
	is(t, "messages after Reset", t.get(i.Key).InboxMessages, 1)
}

// refusedParent starts instances under a parent that is gone. An ID or a Key in use decides first.
func refusedParent(t *trial) {
	i := t.begin("i")
	orphan := provider.Parent{Key: unique(), ID: "nobody", Execution: 1, EventID: 1}
	usedKey := createRequest("i!new") // in the slot of i
	usedKey.Key = i.Key
	for _, try := range []struct {
		what string
		req  provider.CreateRequest
		want error
	}{
		{"a new ID", createRequest("new"), provider.ErrNotFound},
		{"a used ID", createRequest("i"), provider.ErrExists},
		{"a used key", usedKey, provider.ErrExists},
	} {
		try.req.Parent = orphan
		t.wholeUnchanged("a create under a parent that is gone with "+try.what, func() {
			_, err := t.Create(t.ctx, try.req)
			t.checkf(errors.Is(err, try.want), "a create under a parent that is gone with %s returned %v, want %v", try.what, err, try.want)
		})
	}
	t.checkf(!exists(t, "new"), "the refused create made an instance")
}

// refusedStart starts children whose ID or Key is in use. A repeated request is no refusal.
func refusedStart(t *trial) {
	i := t.begin("parent")
	req := next(i)
	child := startOf(i, "child")
	child.Create.RequestID = "r"
	req.Starts = []provider.Start{child}
	t.commit(req)
	started := t.byID("child")
	again, usedID, usedKey := startOf(i, "child"), startOf(i, "child"), startOf(i, "child!new")
	again.Create.RequestID = "r"
	usedKey.Create.Key = child.Create.Key
	again.Refused, usedID.Refused, usedKey.Refused = text("again"), text("used ID"), text("used key")
	t.unchanged(started.Key, func() {
		req = next(t.get(i.Key))
		req.Starts = []provider.Start{again, usedID, usedKey}
		t.commit(req)
	})
	is(t, "the refusals", t.fetchOne(named("parent")).payloads(), "used ID used key")
	t.checkf(!exists(t, "child!new"), "a start with a used key made an instance")
}

// refusedReplacement replaces instances that have not ended.
func refusedReplacement(t *trial) {
	held := map[string]func(provider.Instance){
		"Running":   func(provider.Instance) {},
		"Suspended": func(i provider.Instance) { t.steer(i.Key, provider.SteerSuspend) },
		"Blocked": func(i provider.Instance) {
			t.send(i.Key, text("m"))
			t.block(t.fetchOne(named(i.ID)), true)
		},
	}
	parent := t.begin("parent")
	for state, hold := range held {
		i := t.begin(state)
		hold(i)
		start := startOf(parent, state)
		start.Create.Policy, start.Refused = provider.IDReplaceEnded, text(state)
		t.unchanged(i.Key, func() {
			_, err := t.Create(t.ctx, with(createRequest(state), replace))
			t.checkf(errors.Is(err, provider.ErrExists), "the replacement of an instance that is %s returned %v, want ErrExists", state, err)
			req := next(t.get(parent.Key))
			req.Starts = []provider.Start{start}
			t.commit(req)
		})
		is(t, "the instance under the ID", t.byID(state).Key, i.Key)
	}
	is(t, "the refused starts", t.get(parent.Key).InboxMessages, int64(len(held)))
}
