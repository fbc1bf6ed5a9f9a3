package engine

import (
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func continueScenarios() []scenario {
	return []scenario{
		{name: "continue-as-new", run: continues, carries: []string{"CommitTurn.Next", "ReadHistory.Execution", "FetchTurns", "Get.WaitEnded"}},
	}
}

// continues as new some times, as a child of one that does so, too. Every execution keeps its history.
func continues(t *trial) {
	const times = 4
	reg := runtime.NewRegistry()
	addSum(t, reg)
	addOrchestration(t, reg, "child", func(ctx *octx, n int) (string, error) {
		n, err := add(ctx, n)
		if err != nil {
			return "", err
		}
		if n < times {
			return "", orchestration.ContinueAsNew(ctx, n)
		}
		return ctx.Info().ParentID, nil
	})
	addOrchestration(t, reg, "main", func(ctx *octx, n int) (string, error) {
		parent, err := orchestration.CallOrchestrationNamed[string](ctx, "child", 0)
		if err != nil {
			return "", err
		}
		if n < times {
			return "", orchestration.ContinueAsNew(ctx, n+1)
		}
		return parent, nil
	})
	t.node(reg)
	h := start[string](t, "main", 1, client.WithID("main"))
	completes(t, h, "main")
	for n := range int64(times) {
		list := events(t, h, n+1)
		last, want := list[len(list)-1].Kind, "ContinuedAsNew"
		if n+1 == times {
			want = "ExecutionCompleted"
		}
		t.checkf(last == want, "the history of execution %d ends with %s, want %s", n+1, last, want)
	}
}
