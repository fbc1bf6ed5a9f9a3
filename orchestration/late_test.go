package orchestration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// A due timer and results come in the same batch as the message that makes the code give
// them up. In an execution of an older release they are consumed without an event, and nothing stays behind.
func TestHazard37_WhatIsNoLongerAwaitedLeavesNoEvent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		begin func(ctx *octx) (cancel func())
		late  int64 // messages that nobody awaits
	}{
		"timer":    {func(ctx *octx) func() { return orchestration.StartTimer(ctx, time.Hour).Cancel }, 1},
		"activity": {func(ctx *octx) func() { return orchestration.StartActivityNamed[int](ctx, "Double", 1).Cancel }, 1},
		"failure":  {func(ctx *octx) func() { return orchestration.StartActivityNamed[int](ctx, "Refuse", "x").Cancel }, 1},
		"child":    {func(ctx *octx) func() { return orchestration.StartOrchestrationNamed[int](ctx, "Square", 1).Cancel }, 1},
		"scope": {func(ctx *octx) func() {
			inner, cancel := ctx.WithCancel()
			orchestration.StartTimer(inner, time.Hour)
			orchestration.StartActivityNamed[int](inner, "Double", 1)
			return cancel
		}, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				main, workers := runtime.NewRegistry(), registry(e.T)
				enginetest.Orchestration(e.T, main, "main", func(ctx *octx, _ none) (none, error) {
					cancel := c.begin(ctx)
					if _, err := orchestration.Events[none](ctx, "give up").Receive(ctx); err != nil {
						return none{}, err
					}
					cancel()
					_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
					return none{}, err
				})
				if err := runtime.AddOrchestration(workers, Square); err != nil {
					e.T.Fatal(err)
				}
				first := e.Start(main)
				key := e.CreateOneByOne("main", "main", none{})
				e.Until("it waits", func() bool { return e.Get(key).HistoryLength == 1+c.late })
				e.Stop(first)
				e.Raise(key, "give up", none{})
				e.Start(workers)
				time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual
				if n := e.Get(key).InboxMessages; n != 1+c.late {
					e.T.Fatalf("%d messages wait", n)
				}
				second := e.Start(main)
				e.Until("it has given up", func() bool { return e.Get(key).InboxMessages == 0 })
				if dropped := second.Stats().MessagesDropped; dropped != c.late {
					e.T.Errorf("%d messages were dropped", dropped)
				}
				e.Raise(key, "end", none{})
				enginetest.Output[none](e, key)
				got := kinds(e.History(key, 1))
				for _, kind := range []string{"TimerFired", "ActivityCompleted", "ActivityFailed", "ChildCompleted"} {
					if strings.Contains(got, kind) {
						e.T.Errorf("a late message left an event: %s", got)
					}
				}
			})
		})
	}
}
