// Package futures drops futures, and has clean code beside that.
package futures

import (
	"context"
	"time"

	"github.com/perdure/perdure/orchestration"
)

func ship(_ context.Context, item string) (string, error) { return item, nil }

func start(ctx *orchestration.Context, item string) orchestration.Future[string] {
	return orchestration.StartActivity(ctx, ship, item)
}

func drops(ctx *orchestration.Context, item string) (string, error) {
	orchestration.StartActivity(ctx, ship, item)                // want `the future of orchestration.StartActivity is dropped: nobody learns of a failure, and the end of the execution cancels it; call Get, or assign it to _ to say so \(future\)`
	orchestration.StartActivityNamed[string](ctx, "ship", item) // want `the future of orchestration.StartActivityNamed is dropped`
	start(ctx, item)                                            // want `the future of start is dropped`
	defer orchestration.StartTimer(ctx, time.Hour)              // want `the future of orchestration.StartTimer is dropped`
	return item, nil
}

func clean(ctx *orchestration.Context, item string) (string, error) {
	_ = orchestration.StartActivity(ctx, ship, item)
	orchestration.Raise(ctx, "other", "shipped", item)
	orchestration.StartDetachedNamed(ctx, "report", item)
	ctx.Go(func(ctx *orchestration.Context) error { return ctx.Sleep(time.Hour) })
	orchestration.StartTimer(ctx, time.Hour).Cancel()
	return start(ctx, item).Get(ctx)
}
