// Package handlers has functions that may only read and do more, and clean ones beside them.
package handlers

import (
	"errors"
	"time"

	"github.com/perdure/perdure/orchestration"
)

type cart struct{ items []string }

func (c *cart) add(item string) { c.items = append(c.items, item) }

func (c *cart) count() int { return len(c.items) }

func bad(ctx *orchestration.Context, n int) (int, error) {
	asked, state := 0, &cart{}
	orchestration.HandleQuery(ctx, "count", func(orchestration.None) (int, error) {
		asked++                                                      // want `the function of orchestration.HandleQuery changes asked: a replay does not run it, so the change is lost; change it in an update or event handler \(handler\)`
		return orchestration.CallActivityNamed[int](ctx, "count", n) // want `the function of orchestration.HandleQuery calls orchestration.CallActivityNamed: it may only read, and the call ends it; call the engine in the orchestration, and let it read the result from a variable \(handler\)`
	})
	orchestration.HandleQuery(ctx, "slow", func(item string) (int, error) {
		state.add(item)                  // want `changes state`
		return 0, ctx.Sleep(time.Second) // want `calls ctx.Sleep`
	})
	orchestration.HandleUpdate(ctx, "add", func(ctx *orchestration.Context, item string) (int, error) {
		state.add(item)
		return state.count(), nil
	}, orchestration.Validate(func(item string) error {
		state.items = append(state.items, item) // want `the function of orchestration.Validate changes state`
		return nil
	}))
	v, err := orchestration.SideEffect(ctx, func() (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "read", n) // want `the function of orchestration.SideEffect calls orchestration.CallActivityNamed: it must not use the engine, and the turn fails; call the engine before or after it \(handler\)`
	})
	return asked + v, err
}

func badConditions(ctx *orchestration.Context, n int) error {
	looks, state := 0, &cart{}
	lines, ready := orchestration.Events[int](ctx, "line"), orchestration.NewPromise[int](ctx)
	return errors.Join(
		ctx.Await(func() bool {
			looks++                                    // want `the function of ctx.Await changes looks: the engine decides how often it looks; change it behind the call \(handler\)`
			_, ok, _ := lines.TryReceive()             // want `the function of ctx.Await calls Mailbox.TryReceive: it may only read, and the turn fails; call the engine in other code, and let it read the result from a variable \(handler\)`
			return ok || ctx.Sleep(time.Second) == nil // want `calls ctx.Sleep`
		}),
		ctx.Await(func() bool {
			state.add("seen")               // want `changes state`
			_ = ready.Set(n)                // want `calls Promise.Set`
			return time.Now().Year() > 2026 // want `orchestration code uses time.Now: a replay reads another time; use ctx.Now\(\) \(clock\)`
		}, orchestration.Within(time.Hour)),
	)
}

func cleanConditions(ctx *orchestration.Context, n int) (int, error) {
	state, over := &cart{}, orchestration.StartTimer(ctx, time.Hour)
	taken, promised := orchestration.Events[string](ctx, "item"), orchestration.NewPromise[int](ctx)
	adding := ctx.Go(func(ctx *orchestration.Context) error {
		for {
			item, err := taken.Receive(ctx)
			if err != nil {
				return err
			}
			state.add(item)
			if err := ctx.Await(func() bool { return state.count() < 10 }); err != nil {
				return err
			}
		}
	})
	err := ctx.Await(func() bool {
		seen := 0
		for range state.items {
			seen++
		}
		return seen > n || over.Ready() || promised.Future().Ready() || ctx.Now().After(time.Time{}) && ctx.Err() != nil // want `calls Promise.Future`
	})
	adding.Cancel()
	return state.count(), err
}

func clean(ctx *orchestration.Context, n int) (int, error) {
	state := &cart{}
	orchestration.HandleQuery(ctx, "count", func(orchestration.None) (map[string]int, error) {
		counts := map[string]int{}
		for _, item := range state.items {
			counts[item]++
		}
		ctx.Logger().Info("asked", "at", ctx.Now(), "id", ctx.Info().ID, "really", time.Now())
		return counts, ctx.Err()
	})
	orchestration.HandleUpdate(ctx, "add", func(ctx *orchestration.Context, item string) (int, error) {
		state.add(item)
		return state.count(), nil
	}, orchestration.Validate(func(item string) error {
		if state.count() > n {
			return errors.New("full")
		}
		return nil
	}))
	return orchestration.SideEffect(ctx, func() (int, error) { return time.Now().Year(), nil })
}
