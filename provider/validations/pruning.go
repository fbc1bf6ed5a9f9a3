package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// pruneLeft prunes children of a parent that continues as new and never ends.
func pruneLeft(t *trial) {
	i := beginFamily(t, func(*provider.Start) {})
	child := t.byID("a")
	grandchild := t.create("grandchild", func(r *provider.CreateRequest) {
		r.Parent = provider.Parent{Key: child.Key, ID: child.ID, Execution: 1, EventID: 1, Close: provider.CloseAbandon}
	})
	t.steer(child.Key, provider.SteerTerminate)
	is(t, "instances pruned in the execution that started them", prune(t, provider.PruneRequest{}), 0)
	t.continueAsNew(t.get(i.Key))
	is(t, "instances pruned while a grandchild runs", prune(t, provider.PruneRequest{}), 0)
	t.steer(grandchild.Key, provider.SteerTerminate)
	is(t, "young instances pruned", prune(t, provider.PruneRequest{Age: long}), 0)
	is(t, "instances pruned after the parent has continued", prune(t, provider.PruneRequest{}), 2)
	t.gone(child.Key)
	t.gone(grandchild.Key)
	is(t, "the status of the parent", t.get(i.Key).Status, provider.StatusRunning)
	again := t.create("late", func(r *provider.CreateRequest) {
		r.Parent = provider.Parent{Key: i.Key, ID: i.ID, Execution: 2, EventID: 1}
	})
	t.steer(again.Key, provider.SteerTerminate)
	is(t, "instances pruned of the current execution", prune(t, provider.PruneRequest{}), 0)
	t.steer(i.Key, provider.SteerReset)
	is(t, "instances pruned after a reset", prune(t, provider.PruneRequest{}), 1)
}

func pruneChosen(t *trial) {
	ended := func(id, name string, status provider.Status) provider.Instance {
		i := t.create(id, func(r *provider.CreateRequest) { r.Name = name })
		u := t.fetchOne(func(r *provider.FetchTurnsRequest) { r.Capabilities[0].Name = name })
		req := commitOf(u)
		req.Status, req.Result = status, []byte("result")
		t.commit(req)
		t.pass(blink)
		return i
	}
	ended("a", "one", provider.StatusFailed)
	b := ended("b", "two", provider.StatusFailed)
	ended("c", "one", provider.StatusCompleted)
	ended("d", "two", provider.StatusCompleted)
	ended("e", "one", provider.StatusCancelled)
	t.begin("running")
	below := t.create("below", func(r *provider.CreateRequest) {
		r.Name = "three"
		r.Parent = provider.Parent{Key: b.Key, ID: b.ID, Execution: 1, EventID: 1, Close: provider.CloseAbandon}
	})
	t.steer(below.Key, provider.SteerTerminate)
	left := func(want string, req provider.PruneRequest, removed int64) {
		is(t, fmt.Sprintf("instances pruned by %+v", req), prune(t, req), removed)
		checkList(t, provider.Filter{}, want)
	}
	one, failed := []string{"one"}, []provider.Status{provider.StatusFailed}
	left("a b below c d e running", provider.PruneRequest{Names: []string{"three", "nobody"}}, 0)
	left("a b below c d e running", provider.PruneRequest{Statuses: []provider.Status{provider.StatusTerminated}}, 0)
	left("b below c d e running", provider.PruneRequest{Names: one, Max: 1}, 1)
	left("b below c d e running", provider.PruneRequest{Names: one, Statuses: failed}, 0)
	left("c d e running", provider.PruneRequest{Statuses: failed}, 2)
	left("c d running", provider.PruneRequest{Statuses: []provider.Status{provider.StatusFailed, provider.StatusCancelled}}, 1)
	left("d running", provider.PruneRequest{Names: []string{"three", "one"}}, 1)
	_, err := t.Prune(t.ctx, provider.PruneRequest{Statuses: []provider.Status{provider.StatusRunning}})
	t.want(err, provider.ErrInvalid)
}
