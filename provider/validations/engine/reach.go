package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func reachScenarios() []scenario {
	return []scenario{
		{
			name: "ends-are-told", run: endsAreReported,
			carries: []string{"Create.Listener", "CommitTurn.Starts", "CommitTurn.Next", "Steer", "Delete.Force"},
		},
		{name: "refusals-of-code", run: refusalsOfCode, carries: []string{"CommitTurn.Sends", "CommitTurn.Starts"}},
	}
}

// endsAreReported to an instance that continues as new after each: by a commit, a termination, a deletion, and after a reset.
func endsAreReported(t *trial) {
	need[provider.Cleaner](t)
	need[provider.Opener](t)
	need[provider.Asker](t)  // a client asks a node to reset
	need[provider.Keeper](t) // and the level of the store must allow it,
	need[provider.Lister](t) // which that of a new store does
	reg, here := runtime.NewRegistry(), make(chan none, 10)
	addActivity(t, reg, "here", func(context.Context, none) (none, error) {
		here <- none{}
		return none{}, nil
	})
	addOrchestration(t, reg, "run", func(ctx *octx, n int) (int, error) {
		if n == 0 {
			return 0, orchestration.ContinueAsNew(ctx, 1)
		}
		return orchestration.Events[int](ctx, "go").Receive(ctx)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, ends string) (string, error) {
		if ctx.Info().Execution == 1 {
			for _, id := range []string{"a", "b", "c"} {
				_, err := orchestration.StartDetachedNamed(ctx, "run", 0, orchestration.WithInstanceID(id), orchestration.TellEnd("over")).Get(ctx)
				if err != nil {
					return "", err
				}
			}
			if _, err := orchestration.CallActivityNamed[none](ctx, "here", none{}); err != nil {
				return "", err
			}
		}
		one, err := orchestration.Events[orchestration.Ended](ctx, "over").Receive(ctx)
		if err != nil {
			return "", err
		}
		if ends += one.ID; len(ends) == 4 {
			return ends, nil
		}
		return "", orchestration.ContinueAsNew(ctx, ends)
	})
	t.node(reg)
	h := start[string](t, "main", "", client.WithID("main"))
	take(t, here)
	a := lookup[int](t, "a")
	t.raise("a", "go", 7)
	completes(t, a, 7)
	t.ok(t.client.Terminate(t.ctx, "b", "test"))
	deleted, err := t.store.Delete(t.ctx, provider.DeleteRequest{ID: "c", Force: true})
	t.ok(err)
	t.checkf(deleted.Instances == 1, "%d instances deleted", deleted.Instances)
	_, err = client.Reset(t.ctx, a, 3)
	t.ok(err)
	completes(t, a, 7)
	completes(t, h, "abca")
}

// refusalsOfCode say why a start or a message did not arrive.
func refusalsOfCode(t *trial) {
	reg := runtime.NewRegistry()
	addOrchestration(t, reg, "wait", func(ctx *octx, _ none) (string, error) {
		return orchestration.Events[string](ctx, "go").Receive(ctx)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (string, error) {
		run, err := orchestration.StartDetachedNamed(ctx, "wait", none{}, orchestration.WithInstanceID("run")).Get(ctx)
		_, taken := orchestration.StartDetachedNamed(ctx, "wait", none{}, orchestration.WithInstanceID("over")).Get(ctx)
		_, ended := orchestration.Raise(ctx, "over", "go", "").Get(ctx)
		_, gone := orchestration.CancelInstance(ctx, "nobody", "").Get(ctx)
		_, sent := run.Raise(ctx, "go", "on").Get(ctx)
		return fmt.Sprint("exists ", errors.Is(taken, orchestration.ErrExists), ", ended ", errors.Is(ended, orchestration.ErrEnded),
			", gone ", errors.Is(gone, orchestration.ErrNotFound)), errors.Join(err, sent)
	})
	over := start[string](t, "wait", none{}, client.WithID("over"))
	t.node(reg)
	t.raise("over", "go", "before")
	completes(t, over, "before")
	completes(t, start[string](t, "main", none{}, client.WithID("main")), "exists true, ended true, gone true")
	completes(t, lookup[string](t, "run"), "on")
}
