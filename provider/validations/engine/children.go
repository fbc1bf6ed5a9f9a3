package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func childScenarios() []scenario {
	return []scenario{
		{name: "children", run: children, carries: []string{"CommitTurn.Starts", "CommitTurn.Sends", "FetchTurns"}},
		{name: "child-id-in-use", run: childIDInUse, carries: []string{"CommitTurn.Starts", "Create.Policy"}},
		{name: "children-end-with-parent", run: childrenEnd, carries: []string{"CommitTurn.Sends", "Steer.ChildNotice", "Steer.ParentNotice"}},
		{name: "abandoned-child", run: abandonedChild, carries: []string{"Steer.ChildNotice", "CommitTurn.Starts"}},
		{name: "deleted-tree", run: deletedTree, carries: []string{"Delete.Force", "RenewTasks", "FetchTasks"}},
	}
}

// children return results and errors, over two generations.
func children(t *trial) {
	const many = 5
	reg := runtime.NewRegistry()
	t.ok(runtime.AddError(reg, "refused", errRefused))
	addSum(t, reg)
	addOrchestration(t, reg, "grandchild", add)
	addOrchestration(t, reg, "child", func(ctx *octx, n int) (int, error) {
		if n < 0 {
			return 0, errRefused
		}
		if ctx.Info().ParentID != "main" {
			return 0, fmt.Errorf("the parent is %q", ctx.Info().ParentID)
		}
		return orchestration.CallOrchestrationNamed[int](ctx, "grandchild", n)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, n int) (sum int, err error) {
		_, err = orchestration.CallOrchestrationNamed[int](ctx, "child", -1)
		if err := unlike("a child that fails", err, errRefused); err != nil {
			return 0, err
		}
		futures := make([]orchestration.Future[int], n)
		for i := range futures {
			futures[i] = orchestration.StartOrchestrationNamed[int](ctx, "child", i)
		}
		values, err := orchestration.All(ctx, futures...)
		for i, v := range values {
			sum += (i + 1) * v
		}
		return sum, err
	})
	t.node(reg)
	completes(t, start[int](t, "main", many, client.WithID("main")), 1+4+9+16+25)
}

// childIDInUse refuses a child and leaves the holder of the ID alone.
func childIDInUse(t *trial) {
	reg := runtime.NewRegistry()
	addOrchestration(t, reg, "wait", func(ctx *octx, _ none) (string, error) {
		return orchestration.Events[string](ctx, "go").Receive(ctx)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (string, error) {
		for _, id := range []string{"taken", "main"} {
			_, err := orchestration.CallOrchestrationNamed[string](ctx, "wait", none{}, orchestration.WithInstanceID(id))
			if err := unlike("a child "+id, err, orchestration.ErrExists); err != nil {
				return "", err
			}
		}
		return "refused", nil
	})
	holder := start[string](t, "wait", none{}, client.WithID("taken"))
	t.node(reg)
	completes(t, start[string](t, "main", none{}, client.WithID("main")), "refused")
	t.raise("taken", "go", "untouched")
	completes(t, holder, "untouched")
}

// addFamily registers "child", which says when it runs and cleans up when it is cancelled, and
// "parent", which ends as its input says. Both tell by here and cleaned which child it is about.
func addFamily(t *trial, reg *runtime.Registry, here, cleaned chan<- string) {
	addActivity(t, reg, "here", func(ctx context.Context, _ none) (none, error) {
		here <- activity.GetInfo(ctx).InstanceID
		return none{}, nil
	})
	addActivity(t, reg, "clean", func(ctx context.Context, _ none) (none, error) {
		cleaned <- activity.GetInfo(ctx).InstanceID
		return none{}, nil
	})
	addOrchestration(t, reg, "child", func(ctx *octx, _ none) (none, error) {
		_, err := orchestration.CallActivityNamed[none](ctx, "here", none{})
		if err == nil { // else it was cancelled before the result came
			_, err = orchestration.Events[none](ctx, "go").Receive(ctx)
		}
		if err == nil {
			return none{}, nil
		}
		_, failed := orchestration.CallActivityNamed[none](ctx.Detached(), "clean", none{})
		return none{}, errors.Join(err, failed)
	})
	addOrchestration(t, reg, "parent", func(ctx *octx, how string) (none, error) {
		child := orchestration.StartOrchestrationNamed[none](ctx, "child", none{}, orchestration.WithInstanceID("child of "+how))
		_, err := orchestration.Events[none](ctx, "go").Receive(ctx)
		switch how {
		case "completed":
			return none{}, err
		case "failed":
			return none{}, errRefused
		case "given up":
			child.Cancel()
			_, err = child.Get(ctx)
			return none{}, unlike("a child that was given up", err, orchestration.ErrCancelled)
		default:
			_, err := child.Get(ctx)
			return none{}, err
		}
	})
}

// childrenEnd with their parent, however that ends, and have the time to clean up.
func childrenEnd(t *trial) {
	reg := runtime.NewRegistry()
	t.ok(runtime.AddError(reg, "refused", errRefused))
	ways := []string{"completed", "failed", "given up", "cancelled", "terminated"}
	here, cleaned := make(chan string, len(ways)), make(chan string, len(ways))
	addFamily(t, reg, here, cleaned)
	t.node(reg)
	parents := map[string]client.Handle[none]{}
	for _, how := range ways {
		parents[how] = start[none](t, "parent", how, client.WithID(how))
	}
	for range ways {
		take(t, here)
	}
	for _, how := range ways[:3] {
		t.raise(how, "go", none{})
	}
	t.ok(t.client.Cancel(t.ctx, "cancelled", "enough"))
	t.ok(t.client.Terminate(t.ctx, "terminated", "enough"))
	completes(t, parents["completed"], none{})
	ends(t, parents["failed"], client.StatusFailed, errRefused)
	completes(t, parents["given up"], none{})
	ends(t, parents["cancelled"], client.StatusCancelled, orchestration.ErrCancelled)
	ends(t, parents["terminated"], client.StatusTerminated, orchestration.ErrTerminated)
	cleanedUp := make([]string, 0, len(ways))
	for _, how := range ways {
		ends(t, lookup[none](t, "child of "+how), client.StatusCancelled, orchestration.ErrCancelled)
		cleanedUp = append(cleanedUp, take(t, cleaned))
	}
	slices.Sort(cleanedUp)
	t.checkf(len(slices.Compact(cleanedUp)) == len(ways), "cleaned up: %v", cleanedUp)
}

// abandoning gives children whose ID says so the close policy Abandon, which orchestrations cannot ask for yet.
type abandoning struct{ provider.Provider }

func (a abandoning) Unwrap() provider.Provider { return a.Provider }

func (a abandoning) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	req.Starts = slices.Clone(req.Starts)
	for i := range req.Starts {
		if create := &req.Starts[i].Create; strings.HasPrefix(create.ID, "child of abandoner") {
			create.Parent.Close = provider.CloseAbandon
		}
	}
	return a.Provider.CommitTurn(ctx, req)
}

// abandonedChild continues when its parent is terminated, and another child does not.
func abandonedChild(t *trial) {
	reg := runtime.NewRegistry()
	here, cleaned := make(chan string, 2), make(chan string, 2)
	addFamily(t, reg, here, cleaned)
	t.nodeOn(abandoning{t.store}, reg, t.opts)
	for _, id := range []string{"abandoner", "keeper"} {
		start[none](t, "parent", id, client.WithID(id))
	}
	for range 2 {
		take(t, here)
	}
	for _, id := range []string{"abandoner", "keeper"} {
		t.ok(t.client.Terminate(t.ctx, id, "enough"))
	}
	ends(t, lookup[none](t, "child of keeper"), client.StatusCancelled, orchestration.ErrCancelled)
	abandoned := lookup[none](t, "child of abandoner")
	d := describe(t, abandoned)
	t.checkf(d.Status == client.StatusRunning && d.InboxMessages <= 1, "the abandoned child is %s with %d messages", d.Status, d.InboxMessages)
	t.raise("child of abandoner", "go", none{})
	completes(t, abandoned, none{})
}

// deletedTree vanishes while its child runs an activity, which learns that nobody wants its result.
func deletedTree(t *trial) {
	need[provider.Cleaner](t)
	reg := runtime.NewRegistry()
	working, cause := newGate(), make(chan error, 1)
	addActivity(t, reg, "work", func(ctx context.Context, _ none) (none, error) {
		working.open()
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return none{}, context.Cause(ctx)
	})
	addOrchestration(t, reg, "child", func(ctx *octx, _ none) (none, error) {
		return orchestration.CallActivityNamed[none](ctx, "work", none{})
	})
	addOrchestration(t, reg, "parent", func(ctx *octx, _ none) (none, error) {
		return orchestration.CallOrchestrationNamed[none](ctx, "child", none{}, orchestration.WithInstanceID("child"))
	})
	t.nodeOn(t.store, reg, noticedSoon(t.opts))
	parent := start[none](t, "parent", none{}, client.WithID("parent"))
	t.await(working)
	child := lookup[none](t, "child")
	res, err := t.store.Delete(t.ctx, provider.DeleteRequest{Key: parent.Key(), Force: true})
	t.ok(err)
	t.checkf(res.Instances == 2, "%d instances were deleted, want parent and child", res.Instances)
	for _, h := range []client.Handle[none]{parent, child} {
		_, err := h.Wait(t.ctx)
		t.want(err, client.ErrNotFound)
	}
	// A notice does not say whether the execution has ended or is gone, a renewal does.
	if err := take(t, cause); !errors.Is(err, activity.ErrOrchestrationMissing) && !errors.Is(err, activity.ErrOrchestrationEnded) {
		t.errorf("its activity was stopped by %v", err)
	}
}
