// Package scopes has coroutines and handlers that use the context of the function around them, and clean ones beside them.
package scopes

import (
	"context"
	"time"

	"github.com/perdure/perdure/orchestration"
)

func ship(_ context.Context, item string) (string, error) { return item, nil }

func bad(ctx *orchestration.Context, item string) (string, error) {
	work := ctx.Go(func(inner *orchestration.Context) error {
		if err := ctx.Sleep(time.Second); err != nil { // want `the function of ctx.Go calls ctx.Sleep with the ctx of the function around it: cancelling the future does not reach the call; use its own parameter \(scope\)`
			return err
		}
		_, err := orchestration.CallActivity(ctx, ship, item) // want `the function of ctx.Go calls orchestration.CallActivity with the ctx`
		return err
	})
	orchestration.HandleEvent(ctx, "more", func(_ *orchestration.Context, item string) error {
		_, err := orchestration.CallActivity(ctx, ship, item) // want `the function of orchestration.HandleEvent calls orchestration.CallActivity with the ctx of the function around it: .*; use its own parameter \(scope\)`
		return err
	})
	_, err := work.Get(ctx)
	return item, err
}

func together(ctx *orchestration.Context, items []string) error {
	var saga orchestration.Saga
	saga.Undo(func(*orchestration.Context) error {
		_, err := orchestration.CallActivity(ctx, ship, "") // want `the function of Saga.Undo calls orchestration.CallActivity with the ctx of the function around it: a cancellation ends the call`
		return err
	})
	g := orchestration.NewGroup(ctx)
	g.Go(func(*orchestration.Context) error {
		return ctx.Sleep(time.Second) // want `the function of Group.Go calls ctx.Sleep with the ctx of the function around it: the error of another function does not reach the call`
	})
	_, err := orchestration.Map(ctx, items, 5, func(_ *orchestration.Context, item string) (string, error) {
		return orchestration.CallActivity(ctx, ship, item) // want `the function of orchestration.Map calls orchestration.CallActivity with the ctx`
	})
	if err != nil {
		return saga.Compensate(ctx)
	}
	return g.Wait()
}

func cleanTogether(ctx *orchestration.Context, items []string) ([]string, error) {
	var saga orchestration.Saga
	var mu orchestration.Mutex
	count := 0
	g := orchestration.NewGroup(ctx)
	for _, item := range items {
		saga.Undo(func(ctx *orchestration.Context) error {
			_, err := orchestration.CallActivity(ctx, ship, item)
			return err
		})
		g.Go(func(ctx *orchestration.Context) error {
			if err := mu.Lock(ctx); err != nil {
				return err
			}
			defer mu.Unlock()
			count++
			return ctx.Sleep(time.Second)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, saga.Compensate(ctx)
	}
	return orchestration.Map(ctx, items, count, func(ctx *orchestration.Context, item string) (string, error) {
		return orchestration.CallActivity(ctx, ship, item)
	})
}

func clean(ctx *orchestration.Context, item string) (string, error) {
	limited, cancel := ctx.WithTimeout(time.Hour)
	defer cancel()
	work := limited.Go(func(inner *orchestration.Context) error {
		ctx.Logger().Info("reading is fine", "at", ctx.Now(), "id", ctx.Info().ID)
		ctx.SetStatus("of the instance")
		orchestration.SetValue(ctx, "item", item)
		cleanup := ctx.Detached()
		defer orchestration.CallActivity(cleanup, ship, item)
		_, err := orchestration.CallActivity(inner, ship, item)
		return err
	})
	other := ctx.Go(func(ctx *orchestration.Context) error { return ctx.Sleep(time.Second) })
	_, err := orchestration.All(ctx, work, other)
	return item, err
}
