package routing

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// A session ends with the instance that opened it: its place does not stay taken until it is idle.
func TestSessionEndsWithItsInstance(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		newDesk(e, 1, runtime.Options{Sessions: runtime.SessionOptions{Max: 10}})
		began := time.Now()
		var keys []provider.UUID
		for i := range 40 {
			keys = append(keys, e.Create(fmt.Sprint(i), "group", group{Session: fmt.Sprint("s-", i), Calls: 2, WaitBefore: -1}))
		}
		for i, key := range keys {
			if ran := enginetest.Output[[]int](e, key); len(ran) != 2 {
				e.T.Errorf("instance %d ran on %v", i, ran)
			}
		}
		if took := time.Since(began); took > 30*time.Second {
			e.T.Errorf("40 instances of two activities took %v, want less than 30 s", took)
		}
	})
}

// The same on every store, and for an instance that is terminated.
func TestSessionOfTerminatedInstanceEnds(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{Sessions: runtime.SessionOptions{Max: 1}}, func(e *engine) {
		newDesk(e, 1, e.Options)
		first := e.Create("first", "group", group{Session: "first", Calls: 2, WaitBefore: 0})
		e.Until("the first session is held", func() bool { return e.Get(first).HistoryLength >= 3 })
		second := e.Create("second", "group", group{Session: "second", Calls: 1, WaitBefore: -1})
		third := e.Create("third", "group", group{Session: "third", Calls: 1, WaitBefore: -1})
		e.Until("the others wait", func() bool { return len(e.Tasks(second)) == 1 && len(e.Tasks(third)) == 1 })
		if tasks := e.Tasks(second); tasks[0].Owner != "" || e.Tasks(third)[0].Owner != "" {
			e.T.Fatalf("a node with one place holds a second session: %+v", tasks)
		}
		e.Terminate(first, "")
		enginetest.Output[[]int](e, second)
		enginetest.Output[[]int](e, third)
	})
}

// Code ends a session on purpose, and goes on. The next activity of the session opens it anew. A replay ends nothing again.
func TestEndSession(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *engine) {
		opts := e.Options
		opts.Sessions = runtime.SessionOptions{Max: 1, Idle: 24 * time.Hour}
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "rooms", func(ctx *octx, rooms int) (int, error) {
			for i := range rooms {
				id := orchestration.WithSession(fmt.Sprint("room-", i%2))
				if _, err := orchestration.CallActivityNamed[int](ctx, "where", i, id); err != nil {
					return i, err
				}
				orchestration.EndSession(ctx, fmt.Sprint("room-", i%2))
				orchestration.EndSession(ctx, "unknown")
				orchestration.EndSession(ctx, "")
			}
			return rooms, ctx.Sleep(time.Second)
		})
		enginetest.Activity(e.T, reg, "where", func(_ context.Context, n int) (int, error) { return n, nil })
		e.StartOn(e.Store, reg, opts)
		key, other := e.Create("a", "rooms", 5), e.Create("b", "rooms", 5)
		if got := enginetest.Output[int](e, key) + enginetest.Output[int](e, other); got != 10 {
			e.T.Errorf("%d rooms, want 10", got)
		}
	})
}
