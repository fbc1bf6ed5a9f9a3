package enginetest

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

const (
	naps = 3 // of each instance of StepClock
	nap  = 40 * time.Millisecond
)

// StepClock runs instances that sleep and call activities, on two nodes, while the clock of the store is set forward and
// back. The function set sets that clock ahead of the real one. No timer fires early or twice, each outcome is stored once,
// and no work fails.
func (e *Engine) StepClock(set func(ahead time.Duration)) {
	e.T.Helper()
	reg := runtime.NewRegistry()
	var runs Notes[int]
	Activity(e.T, reg, "next", func(_ context.Context, n int) (int, error) {
		runs.Add(n)
		return n + 1, nil
	})
	Orchestration(e.T, reg, "napping", func(ctx *orchestration.Context, n int) (int, error) {
		for range naps {
			due := ctx.Now().Add(nap)
			if err := ctx.Sleep(nap); err != nil {
				return 0, err
			}
			if now := ctx.Now(); now.Before(due) {
				return 0, fmt.Errorf("a timer fired %v early", due.Sub(now))
			}
			var err error
			if n, err = orchestration.CallActivityNamed[int](ctx, "next", n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	Orchestration(e.T, reg, "awake", func(ctx *orchestration.Context, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "next", n)
	})
	nodes := []*runtime.Runtime{e.Start(reg), e.Start(reg)}
	var keys []provider.UUID
	for i, ahead := range []time.Duration{time.Hour, 30 * time.Minute, 26 * time.Hour, 25 * time.Hour, 27 * time.Hour} {
		for range 20 {
			keys = append(keys, e.Create(fmt.Sprint("napping-", len(keys)), "napping", len(keys)))
		}
		if back := i == 2 || i == 4; back { // timers may be late by the size of the step, other work may not
			if got := Output[int](e, e.Create(fmt.Sprint("awake-", i), "awake", i)); got != i+1 {
				e.T.Errorf("after a step back an activity returned %d, want %d", got, i+1)
			}
		} else {
			reached := len(runs.All()) + 10
			e.Until("some naps to end", func() bool { return len(runs.All()) >= reached })
		}
		set(ahead)
	}
	for i, key := range keys {
		if got := Output[int](e, key); got != i+naps {
			e.T.Errorf("instance %d returned %d, want %d", i, got, i+naps)
		}
		kinds := map[history.Kind]int{}
		for _, event := range e.History(key, 1) {
			kinds[event.Body.Kind()]++
		}
		for _, kind := range []history.Kind{history.KindTimerFired, history.KindActivityScheduled, history.KindActivityCompleted} {
			if kinds[kind] != naps {
				e.T.Errorf("instance %d has %d events of kind %v, want %d", i, kinds[kind], kind, naps)
			}
		}
	}
	for _, node := range nodes {
		if s := node.Stats(); s.TurnsFailed+s.AttemptsFailed+s.AttemptsPoisoned > 0 {
			e.T.Errorf("%+v", s)
		}
	}
}
