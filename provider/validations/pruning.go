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

func pruneExcept(t *trial) {
	for n, name := range []string{"one", "two", "three", "one"} {
		i := t.create(fmt.Sprint("i", n), func(r *provider.CreateRequest) { r.Name = name })
		t.steer(i.Key, provider.SteerTerminate)
		t.pass(blink)
	}
	root := t.create("root")
	below := t.create("below", func(r *provider.CreateRequest) {
		r.Name = "two"
		r.Parent = provider.Parent{Key: root.Key, ID: root.ID, Execution: 1, EventID: 1, Close: provider.CloseAbandon}
	})
	t.steer(below.Key, provider.SteerTerminate)
	t.steer(root.Key, provider.SteerTerminate)
	is(t, "instances pruned with all names left out", prune(t, provider.PruneRequest{ExceptNames: []string{"one", "two", "three", root.Name}}), 0)
	is(t, "instances pruned", prune(t, provider.PruneRequest{ExceptNames: []string{"two", "three", "nobody"}}), 4)
	checkList(t, provider.Filter{}, "i1 i2")
	is(t, "instances pruned by two lists", prune(t, provider.PruneRequest{Names: []string{"two", "three"}, ExceptNames: []string{"two"}}), 1)
	checkList(t, provider.Filter{}, "i1")
}

func pruneSpared(t *trial) {
	a, b := t.end(t.begin("a")), t.end(t.begin("b"))
	root := t.create("root")
	below := t.create("below", func(r *provider.CreateRequest) {
		r.Parent = provider.Parent{Key: root.Key, ID: root.ID, Execution: 1, EventID: 1, Close: provider.CloseAbandon}
	})
	t.steer(below.Key, provider.SteerTerminate)
	t.steer(root.Key, provider.SteerTerminate)
	spare := []provider.UUID{b.Key, below.Key, unique()}
	is(t, "instances pruned", prune(t, provider.PruneRequest{Spare: spare}), 1)
	t.gone(a.Key)
	checkList(t, provider.Filter{}, "b below root")
	is(t, "instances pruned without Spare", prune(t, provider.PruneRequest{}), 3)
}

func pruneCursor(t *trial) {
	for n := range 6 {
		i := t.begin(fmt.Sprint("i", n))
		if n == 1 { // it stays
			t.create("below", func(r *provider.CreateRequest) {
				r.Parent = provider.Parent{Key: i.Key, ID: i.ID, Execution: 1, EventID: 1, Close: provider.CloseAbandon}
			})
		}
		t.steer(i.Key, provider.SteerTerminate)
		t.pass(blink)
	}
	req := provider.PruneRequest{Max: 2}
	for calls := range 20 {
		res, err := t.Prune(t.ctx, req)
		t.ok(err)
		if calls == 0 {
			is(t, "instances pruned by the first call", res.Instances, 2)
			checkList(t, provider.Filter{}, "below i1 i3 i4 i5")
			t.mustf(res.Cursor != "", "the first call returned no Cursor, and three of the ended instances are left")
		}
		if req.Cursor = res.Cursor; req.Cursor == "" {
			break
		}
	}
	t.checkf(req.Cursor == "", "the Cursor has no end")
	checkList(t, provider.Filter{}, "below i1")
	_, err := t.Prune(t.ctx, provider.PruneRequest{Cursor: "no cursor"})
	t.want(err, provider.ErrInvalid)
}

// pruneLook looks at trees, two of which are below another one, and then removes them.
func pruneLook(t *trial) {
	of := func(parent provider.Instance) func(*provider.CreateRequest) {
		return func(r *provider.CreateRequest) {
			r.Parent = provider.Parent{Key: parent.Key, ID: parent.ID, Execution: 1, EventID: 1, Close: provider.CloseAbandon}
		}
	}
	root := t.begin("root")
	left, below := t.create("left", of(root)), t.create("below", of(root))
	lower, loose := t.create("lower", of(below)), t.create("loose")
	t.continueAsNew(t.get(root.Key))
	for _, i := range []provider.Instance{left, lower, below, root, loose} {
		t.steer(i.Key, provider.SteerTerminate)
		t.pass(blink)
	}
	t.begin("running")
	tree := func(i provider.Instance, n int64) provider.PrunableTree {
		return provider.PrunableTree{Key: i.Key, Instances: n}
	}
	look := func(req provider.PruneRequest, want ...provider.PrunableTree) (res provider.PruneResult) {
		req.Look = true
		res, err := t.Prune(t.ctx, req)
		t.ok(err)
		is(t, fmt.Sprintf("trees of %+v", req), fmt.Sprint(res.Trees), fmt.Sprint(want))
		sum := int64(0)
		for _, w := range want {
			sum += w.Instances
		}
		is(t, "instances that would go", res.Instances, sum)
		return res
	}
	look(provider.PruneRequest{}, tree(left, 1), tree(below, 2), tree(root, 1), tree(loose, 1))
	look(provider.PruneRequest{Spare: []provider.UUID{lower.Key}}, tree(left, 1), tree(loose, 1))
	first := look(provider.PruneRequest{Max: 2}, tree(left, 1), tree(below, 2))
	checkList(t, provider.Filter{}, "below left loose lower root running")
	res, err := t.Prune(t.ctx, provider.PruneRequest{Max: 2})
	t.ok(err)
	is(t, "instances pruned", res.Instances, first.Instances)
	is(t, "trees without Look", len(res.Trees), 0)
	checkList(t, provider.Filter{}, "loose root running")
	look(provider.PruneRequest{Cursor: first.Cursor}, tree(root, 1), tree(loose, 1))
}
