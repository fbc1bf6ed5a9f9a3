package weaknesses

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// A parent always receives the end of its child, through any number of executions of either and on any node. Each
// execution of the parent has children of its own.
func TestWeakness03_ParentHearsOfItsChild(t *testing.T) {
	t.Parallel()
	inEveryStore(t, claims{
		"a child that continues as new answers its parent":        childContinues,
		"a child that continues as new fails to its parent":       childContinuesAndFails,
		"automatic IDs of two executions do not collide":          childIDsOfExecutions,
		"a parent beyond execution 1 on another node is answered": parentMovesToAnotherNode,
	})
	inEveryMode(t, claims{"the child continues as new while its parent moves": bothMove})
}

// countDown is a child that continues as new until it has counted down.
func countDown(ctx *octx, n int) (string, error) {
	if _, err := orchestration.CallActivity(ctx, Double, n); err != nil {
		return "", err
	}
	if n > 0 {
		return "", orchestration.ContinueAsNew(ctx, n-1)
	}
	return fmt.Sprintf("%s in execution %d", ctx.Info().ParentID, ctx.Info().Execution), nil
}

func childContinues(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", countDown)
	key := start(e, reg, func(ctx *octx, _ none) (string, error) {
		return orchestration.CallOrchestrationNamed[string](ctx, "child", 4)
	}, none{})
	want(e, key, "main in execution 5")
}

func childContinuesAndFails(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, n int) (none, error) {
		if n > 0 {
			return none{}, orchestration.ContinueAsNew(ctx, n-1)
		}
		return none{}, errRefused
	})
	key := start(e, reg, func(ctx *octx, _ none) (string, error) {
		_, err := orchestration.CallOrchestrationNamed[none](ctx, "child", 2)
		if f, ok := errors.AsType[*orchestration.Error](err); ok {
			return f.Message, nil
		}
		return "", err
	}, none{})
	want(e, key, errRefused.Error())
}

// childIDsOfExecutions starts a child at the same event of each execution. The earlier children have ended, but their
// IDs stay in use as long as they can be read.
func childIDsOfExecutions(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", countDown)
	key := start(e, reg, func(ctx *octx, n int) (string, error) {
		got, err := orchestration.CallOrchestrationNamed[string](ctx, "child", 1)
		if err != nil || n == 0 {
			return got, err
		}
		return "", orchestration.ContinueAsNew(ctx, n-1)
	}, 5)
	want(e, key, "main in execution 2")
	ids := map[string]bool{}
	for _, child := range children(e, key) {
		ids[child.ID] = true
		if child.Parent.Execution == 0 || child.Parent.EventID == 0 {
			e.T.Errorf("the store does not know which event started %s: %+v", child.ID, child.Parent)
		}
	}
	if len(ids) != 6 {
		e.T.Errorf("IDs of the children: %v", ids)
	}
}

// moving is a parent that starts its child in execution 3, on a registry without the child.
func moving(e *engine) *runtime.Registry {
	e.T.Helper()
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (string, error) {
		if n > 0 {
			return "", orchestration.ContinueAsNew(ctx, n-1)
		}
		return orchestration.CallOrchestrationNamed[string](ctx, "child", none{}, orchestration.WithInstanceID("child"))
	})
	return reg
}

func parentMovesToAnotherNode(e *engine) {
	elsewhere := registry(e)
	enginetest.Orchestration(e.T, elsewhere, "child", func(ctx *octx, _ none) (string, error) {
		return orchestration.Events[string](ctx, "answer").Receive(ctx)
	})
	e.Start(elsewhere)
	first := e.Start(moving(e))
	key := e.Create("main", "main", 2)
	child := await(e, "child")
	e.Stop(first)
	e.Start(moving(e)) // this node has never seen an earlier execution
	e.Raise(child, "answer", "here")
	want(e, key, "here")
	if i := e.Get(key); i.Execution != 3 {
		e.T.Errorf("ended in execution %d", i.Execution)
	}
}

func bothMove(e *engine) {
	elsewhere := func() *runtime.Registry {
		reg := registry(e)
		enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, _ none) (string, error) {
			if ctx.Info().Execution <= 10 {
				if err := ctx.Sleep(time.Second); err != nil {
					return "", err
				}
				return "", orchestration.ContinueAsNew(ctx, none{})
			}
			return "there", nil
		})
		return reg
	}
	key := e.Create("main", "main", 2)
	for range 6 {
		parents, others := e.Start(moving(e)), e.Start(elsewhere())
		pass(e, 1500*time.Millisecond)
		e.Stop(parents)
		e.Stop(others)
	}
	e.Start(moving(e))
	e.Start(elsewhere())
	want(e, key, "there")
}
