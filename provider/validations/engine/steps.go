package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func stepScenarios() []scenario {
	return []scenario{
		{
			name: "sequence", run: sequence,
			carries: []string{"Create", "FetchTurns", "CommitTurn.Tasks", "CommitTurn.Completes", "CommitTurn.Events", "Get.WaitEnded"},
		},
		{name: "fan-out", run: fanOut, carries: []string{"CommitTurn.Tasks", "FetchTasks", "ReportTasks", "FetchTurns"}},
		{name: "failure", run: fails, carries: []string{"CommitTurn.Status", "CommitTurn.Result", "ReportTasks", "Get.WaitEnded"}},
		{name: "long-history", run: longHistory, carries: []string{"CommitTurn.Events", "CommitTurn.Length", "ReadHistory.From"}},
		{name: "large-payloads", run: largePayloads, carries: []string{"ReadHistory.MaxBytes", "FetchTurns.MaxBytes", "CommitTurn.Events", "FetchTasks", "Send"}},
	}
}

// sequence calls one activity after the other.
func sequence(t *trial) {
	const steps = 20
	reg := runtime.NewRegistry()
	addSum(t, reg)
	addOrchestration(t, reg, "main", func(ctx *octx, n int) (_ int, err error) {
		for range steps {
			if n, err = add(ctx, n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	t.node(reg)
	h := start[int](t, "main", 100)
	completes(t, h, 100+steps)
	kinds := map[string]int{}
	for _, e := range events(t, h, 1) {
		kinds[e.Kind]++
	}
	t.checkf(kinds["ActivityScheduled"] == steps && kinds["ActivityCompleted"] == steps && kinds["ExecutionCompleted"] == 1,
		"the history of %d steps has %v", steps, kinds)
}

// fanOut calls many activities at once and waits for all.
func fanOut(t *trial) {
	const many = 50
	reg := runtime.NewRegistry()
	addSum(t, reg)
	addOrchestration(t, reg, "main", func(ctx *octx, n int) (sum int, err error) {
		futures := make([]orchestration.Future[int], n)
		for i := range futures {
			futures[i] = orchestration.StartActivityNamed[int](ctx, "add", i)
		}
		values, err := orchestration.All(ctx, futures...)
		for i, v := range values {
			if v != i+1 {
				return 0, errors.New("a result is another's")
			}
			sum += v
		}
		return sum, err
	})
	t.node(reg)
	completes(t, start[int](t, "main", many), many*(many+1)/2)
}

var errRefused = errors.New("refused")

// fails ends in an error that came from an activity, and keeps its identity.
func fails(t *trial) {
	reg := runtime.NewRegistry()
	t.ok(runtime.AddError(reg, "refused", errRefused))
	addActivity(t, reg, "refuse", func(context.Context, none) (none, error) { return none{}, errRefused })
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (none, error) {
		return orchestration.CallActivityNamed[none](ctx, "refuse", none{})
	})
	t.node(reg)
	ends(t, start[none](t, "main", none{}), client.StatusFailed, errRefused)
}

// longHistory has 1,000 events, made in a few turns.
func longHistory(t *trial) {
	const turns, notes = 20, 48
	reg := runtime.NewRegistry()
	addSum(t, reg)
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (sum int, err error) {
		for range turns {
			for range notes {
				one, err := orchestration.SideEffect(ctx, func() (int, error) { return 1, nil })
				if err != nil {
					return 0, err
				}
				sum += one
			}
			if sum, err = add(ctx, sum); err != nil {
				return 0, err
			}
		}
		return sum, nil
	})
	t.node(reg)
	h := start[int](t, "main", none{})
	completes(t, h, turns*(notes+1))
	if n := len(events(t, h, 1)); n < 1000 {
		t.errorf("the history has %d events, want 1,000 and more", n)
	}
}

// largePayloads sends much data every way that data goes. In the end the history is longer than a page.
func largePayloads(t *trial) {
	const bytes, parts = 500_000, 4
	reg := runtime.NewRegistry()
	addActivity(t, reg, "turn", func(_ context.Context, s string) (string, error) { return s[1:] + s[:1], nil })
	addOrchestration(t, reg, "child", func(ctx *octx, s string) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "turn", s)
	})
	addOrchestration(t, reg, "main", func(ctx *octx, s string) (_ string, err error) {
		for i := range parts {
			if i%2 == 0 {
				s, err = orchestration.CallActivityNamed[string](ctx, "turn", s)
			} else {
				s, err = orchestration.CallOrchestrationNamed[string](ctx, "child", s)
			}
			if err != nil {
				return "", err
			}
		}
		more, err := orchestration.Events[string](ctx, "more").Receive(ctx)
		if err != nil || len(more) != bytes {
			return "", errors.Join(err, errors.New("the event is another one"))
		}
		return s, nil
	})
	t.node(reg)
	big := strings.Repeat("0123456789", bytes/10)
	h := start[string](t, "main", big)
	t.raise(h.ID(), "more", strings.Repeat("x", bytes))
	if got := output(t, h); got != big[parts:]+big[:parts] {
		t.errorf("%d bytes came back changed, as %d", len(big), len(got))
	}
}
