package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// deletedCases checks that a deletion leaves no row of any kind, by each call that deletes.
func deletedCases() []testCase {
	const all = "Delete removes an instance and its children, with everything stored under their keys."
	return append([]testCase{
		{name: "deleted-letters", run: deletedLetters, rule: all},
		{name: "deleted-child", run: deletedChild, rule: all},
		{name: "deleted-key-again", run: deletedAgain, rule: all},
	}, needs(lacking[provider.Inspector], []testCase{{name: "deleted-rows", run: deletedRows, rule: all}})...)
}

// furnished makes an instance with rows of every kind: it is in its second execution.
func furnished(t *trial, id string, changes ...func(*provider.CreateRequest)) provider.Instance {
	i := t.create(id, append(changes, func(r *provider.CreateRequest) { r.Name = "setup-" + id })...)
	t.commit(commitOf(t.fetchOne(named(id)), "started"))
	i = t.continueAsNew(t.get(i.Key))
	task, token := handedOff()
	req := next(i, "event")
	req.Tasks = []provider.NewTask{task, newTask(2)}
	req.Timers = []provider.Timer{{EventID: 3, Due: 1 << 60}}
	req.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}}
	req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: "t"}}
	req.CustomStatus = []byte("custom")
	t.commit(req)
	poisoned := leasedTask{provider.LeasedTask{TaskRef: ref(i, 1), Attempt: 1}, token}
	t.ok(t.report(poisoned, provider.TaskPoison).Err)
	t.fetchOne(named(id))
	return t.get(i.Key)
}

// deletions delete a parent and its child, which both have rows of every kind.
func deletions(t *trial) map[string]func(parent, child provider.Instance) {
	end := func(list ...provider.Instance) {
		for _, i := range list {
			t.steer(i.Key, provider.SteerTerminate)
		}
	}
	return map[string]func(parent, child provider.Instance){
		"Delete with Force": func(parent, _ provider.Instance) { is(t, "instances removed", t.remove(parent.Key, true), 2) },
		"Delete": func(parent, child provider.Instance) {
			end(child, parent)
			is(t, "instances removed", t.remove(parent.Key, false), 2)
		},
		"Prune": func(parent, child provider.Instance) {
			end(child, parent)
			is(t, "instances removed", prune(t, provider.PruneRequest{}), 2)
		},
	}
}

// furnishedFamily makes a parent and a child with rows of every kind.
func furnishedFamily(t *trial, id string) (parent, child provider.Instance) {
	parent = furnished(t, id)
	child = furnished(t, "below "+id, func(r *provider.CreateRequest) {
		r.Parent = provider.Parent{Key: parent.Key, ID: parent.ID, Execution: parent.Execution, EventID: 1}
	})
	return parent, child
}

func deletedRows(t *trial) {
	for how, remove := range deletions(t) {
		parent, child := furnishedFamily(t, how)
		for _, i := range []provider.Instance{parent, child} {
			for kind := provider.InspectInstances; kind <= provider.InspectDeadLetters; kind++ {
				t.checkf(rowsOf(t, kind, i.Key) > 0 || kind == provider.InspectAsks, "no rows of kind %d before, want some", kind)
			}
		}
		remove(parent, child)
		for _, i := range []provider.Instance{parent, child} {
			for kind := provider.InspectInstances; kind <= provider.InspectDeadLetters; kind++ {
				n := rowsOf(t, kind, i.Key)
				t.checkf(n == 0, "%s left %d rows of kind %d of %q, want none", how, n, kind, i.ID)
			}
		}
	}
}

// rowsOf counts the rows of a kind that a key has, or that all keys have if it is zero.
func rowsOf(t *trial, kind provider.InspectKind, key provider.UUID) int {
	return countRows(inspect(t, kind, of(key)))
}

// countRows counts the rows of a page.
func countRows(res provider.InspectResult) int {
	return len(res.Instances) + len(res.Executions) + len(res.History) + len(res.Messages) + len(res.Tasks) + len(res.TurnLeases) + len(res.Keys)
}

func deletedLetters(t *trial) {
	for how, remove := range deletions(t) {
		parent, child := furnishedFamily(t, how)
		is(t, "letters before", len(t.letters()), 2)
		remove(parent, child)
		for _, i := range []provider.Instance{parent, child} {
			res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Key: i.Key})
			t.ok(err)
			t.checkf(len(res.Letters) == 0, "%s left %d dead letters of %q, want none", how, len(res.Letters), i.ID)
		}
		is(t, "all letters after "+how, len(t.letters()), 0)
	}
	checkStats(t, func(s provider.StatsResult) string { return fmt.Sprint(s.DeadLetters, " dead letters") }, "0 dead letters")
}

// deletedChild checks that a parent is terminated, deleted and pruned as if it never had the child.
func deletedChild(t *trial) {
	plain := func(*provider.Start) {}
	childless := func() provider.Instance {
		parent := beginFamily(t, plain, plain)
		t.remove(t.byID("a").Key, true)
		return parent
	}
	parent := childless()
	t.steer(parent.Key, provider.SteerTerminate, notices)
	is(t, "messages of the child that is left", t.byID("b").InboxMessages, 2)
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: parent.Key})
	t.want(err, provider.ErrRunning)
	is(t, "instances removed", t.remove(parent.Key, true), 2)
	parent = childless()
	t.steer(t.byID("b").Key, provider.SteerTerminate)
	t.steer(parent.Key, provider.SteerTerminate)
	is(t, "instances pruned", prune(t, provider.PruneRequest{}), 2)
	t.gone(parent.Key)
}

// deletedAgain creates an instance again under its key: a caller may retry a Create after somebody deleted what it made.
func deletedAgain(t *trial) {
	req := createRequest("i")
	req.RequestID = "start"
	born := func() provider.Instance {
		res, err := t.Create(t.ctx, req)
		t.ok(err)
		t.checkf(res.Created && res.Instance.Version == req.Commit && res.Instance.InboxMessages == 1, "created %+v, want a new instance", res.Instance)
		t.joins(req.Key, join("i", "messages", "a"))
		return t.steer(req.Key, provider.SteerSuspend, func(r *provider.SteerRequest) { r.RequestID = "act" })
	}
	for range 2 {
		i := born()
		is(t, "messages", i.InboxMessages, 2)
		is(t, "the status", i.Status, provider.StatusSuspended)
		t.remove(i.Key, true)
		t.gone(i.Key)
	}
}
