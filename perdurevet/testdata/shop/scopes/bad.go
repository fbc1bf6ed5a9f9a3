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
