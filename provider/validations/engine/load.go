package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func loadScenarios() []scenario {
	carries := []string{"Create", "FetchTurns", "CommitTurn", "CommitTurn.Starts", "FetchTasks", "ReportTasks", "ReadHistory", "Get.WaitEnded"}
	return []scenario{
		{name: "hundred-at-once", run: hundredAtOnce, carries: carries},
		{name: "stream", run: stream, two: true, carries: carries},
		{name: "mixed-sizes", run: mixedSizes, carries: carries},
	}
}

// addJoin registers "main", which calls activities at once and joins them.
func addJoin(t *trial, reg *runtime.Registry, work func(context.Context) error) {
	addActivity(t, reg, "work", func(ctx context.Context, n int) (int, error) { return n, work(ctx) })
	addOrchestration(t, reg, "main", func(ctx *octx, n int) (sum int, err error) {
		futures := make([]orchestration.Future[int], n)
		for i := range futures {
			futures[i] = orchestration.StartActivityNamed[int](ctx, "work", i+1)
		}
		values, err := orchestration.All(ctx, futures...)
		for _, v := range values {
			sum += v
		}
		return sum, err
	})
}

// hundredAtOnce are started at once, and each waits for two activities.
func hundredAtOnce(t *trial) {
	const many = 100
	reg := runtime.NewRegistry()
	addJoin(t, reg, func(context.Context) error { return nil })
	t.node(reg)
	t.parallel(many, many, func(int) { completes(t, start[int](t, "main", 2), 3) })
}

// stream keeps some instances going: each new one begins when another has ended. They share two nodes of two slots.
func stream(t *trial) {
	const all, inFlight = 16, 6
	reg := runtime.NewRegistry()
	addJoin(t, reg, func(ctx context.Context) error {
		timer := time.NewTimer(time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	opts := t.opts
	opts.MaxConcurrentTurns, opts.MaxConcurrentActivities = 2, 2
	t.nodeOn(t.store, reg, opts)
	t.nodeOn(t.other, reg, opts)
	t.parallel(all, inFlight, func(int) { completes(t, start[int](t, "main", 5), 15) })
}

// mixedSizes carry 10, 50 and 100 kB through activities and children, a hundred events in all.
func mixedSizes(t *trial) {
	const steps = 3
	reg := runtime.NewRegistry()
	addActivity(t, reg, "turn", func(_ context.Context, s string) (string, error) { return s[1:] + s[:1], nil })
	addOrchestration(t, reg, "child", func(_ *octx, s string) (int, error) { return len(s), nil })
	addOrchestration(t, reg, "main", func(ctx *octx, s string) (_ string, err error) {
		for range steps {
			calls := make([]orchestration.Future[string], 4)
			for i := range calls {
				calls[i] = orchestration.StartActivityNamed[string](ctx, "turn", s)
			}
			child := orchestration.StartOrchestrationNamed[int](ctx, "child", s)
			values, err := orchestration.All(ctx, calls...)
			if err != nil {
				return "", err
			}
			if n, err := child.Get(ctx); err != nil || n != len(s) {
				return "", errors.Join(err, errors.New("the child got another input"))
			}
			s = values[len(values)-1]
		}
		return s, nil
	})
	t.node(reg)
	sizes := []int{10_000, 50_000, 100_000}
	t.parallel(len(sizes), len(sizes), func(i int) {
		text := strings.Repeat("0123456789", sizes[i]/10)
		if got := output(t, start[string](t, "main", text)); got != text[steps:]+text[:steps] {
			t.errorf("%d bytes came back changed, as %d", len(text), len(got))
		}
	})
}
