package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func timeScenarios() []scenario {
	return []scenario{
		{name: "timers", run: timers, carries: []string{"CommitTurn.Timers", "CommitTurn.CancelTimers", "FetchTurns.Wait"}},
		{name: "delayed-start", run: delayedStart, carries: []string{"Create.Message", "FetchTurns.Wait"}},
	}
}

// timers fire in the order in which they are due, none of them early, and not at all when they are given up.
func timers(t *trial) {
	reg := runtime.NewRegistry()
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (none, error) {
		var order []time.Duration
		delays := []time.Duration{60 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond}
		running := make([]orchestration.Future[none], len(delays))
		began := ctx.Now()
		for i, d := range delays {
			running[i] = ctx.Go(func(ctx *octx) error {
				err := ctx.Sleep(d)
				if took := ctx.Now().Sub(began); took < d {
					return fmt.Errorf("a timer of %v fired after %v", d, took)
				}
				order = append(order, d)
				return err
			})
		}
		if _, err := orchestration.All(ctx, running...); err != nil {
			return none{}, err
		}
		if !slices.IsSorted(order) {
			return none{}, fmt.Errorf("timers fired in the order %v", order)
		}
		soon, cancel := ctx.WithTimeout(20 * time.Millisecond)
		defer cancel()
		slept := soon.Sleep(time.Hour)
		_, received := orchestration.Events[none](ctx, "never").Receive(ctx, orchestration.Within(20*time.Millisecond))
		return none{}, errors.Join(
			unlike("sleeping in a scope that ends", slept, orchestration.ErrTimeout), unlike("receiving within 20 ms", received, orchestration.ErrTimeout))
	})
	t.node(reg)
	completes(t, start[none](t, "main", none{}), none{})
}

// delayedStart begins late and takes events meanwhile.
func delayedStart(t *trial) {
	const delay = 50 * time.Millisecond
	reg := runtime.NewRegistry()
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (time.Time, error) {
		began := ctx.Now()
		for i := range 3 {
			if n, err := orchestration.Events[int](ctx, "early").Receive(ctx); err != nil || n != i {
				return began, errors.Join(err, fmt.Errorf("event %d is %d", i, n))
			}
		}
		return began, nil
	})
	t.node(reg)
	h := start[time.Time](t, "main", none{}, client.WithDelay(delay))
	for i := range 3 {
		t.raise(h.ID(), "early", i)
	}
	began, created := output(t, h), describe(t, h).CreatedAt
	t.checkf(began.Sub(created) >= delay, "began %v after it was created, want %v", began.Sub(created), delay)
}
