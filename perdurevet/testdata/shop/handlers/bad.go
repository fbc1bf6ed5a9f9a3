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
