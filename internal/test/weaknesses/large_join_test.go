package weaknesses

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// joined checks the results of a join: all of them, in the order of the call.
func joined(values []int, err error) (int, error) {
	for i, v := range values {
		if v != i {
			return 0, fmt.Errorf("result %d is %d", i, v)
		}
	}
	return len(values), err
}

func joinActivities(ctx *octx, n int) (int, error) {
	futures := make([]orchestration.Future[int], n)
	for i := range futures {
		futures[i] = orchestration.StartActivityNamed[int](ctx, "echo", i)
	}
	return joined(orchestration.All(ctx, futures...))
}

func joinChildren(ctx *octx, n int) (int, error) {
	futures := make([]orchestration.Future[int], n)
	for i := range futures {
		futures[i] = orchestration.StartOrchestration(ctx, Echo, i)
	}
	return joined(orchestration.All(ctx, futures...))
}

// joinTimers fires the first awaited timer last, five hundred at a time.
func joinTimers(ctx *octx, n int) (int, error) {
	futures := make([]orchestration.Future[none], n)
	for i := range futures {
		futures[i] = orchestration.StartTimer(ctx, time.Duration(1+(n-i)/500)*20*time.Millisecond)
	}
	values, err := orchestration.All(ctx, futures...)
	return len(values), err
}

func joinCoroutines(ctx *octx, n int) (int, error) {
	futures := make([]orchestration.Future[none], n)
	for i := range futures {
		futures[i] = ctx.Go(func(ctx *octx) error { return ctx.Sleep(time.Second) })
	}
	values, err := orchestration.All(ctx, futures...)
	return len(values), err
}

// A join of ten thousand completes, whatever it joins and in whatever order the parts end. More activities no execution may wait for.
func TestWeakness02_LargeJoinCompletes(t *testing.T) {
	t.Parallel()
	wide := longtest.Pick(1_000, 10_000)
	joins := map[string]func(*octx, int) (int, error){
		"activities": joinActivities, "children": joinChildren, "timers": joinTimers, "coroutines": joinCoroutines,
	}
	for name, join := range joins {
		claim := func(e *engine) {
			reg := registry(e)
			enginetest.Activity(e.T, reg, "echo", echo)
			want(e, start(e, reg, join, wide), wide)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, claim)
		})
		// The other joins cost too much under the race detector for what they add.
		switch name {
		case "activities":
			t.Run(name+"/evicted", func(t *testing.T) {
				t.Parallel()
				enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}, claim)
			})
		case "timers":
			t.Run(name+"/sqlite", func(t *testing.T) {
				t.Parallel()
				claim(enginetest.SQLite(t, runtime.Options{}))
			})
		}
	}
}
