package children

import (
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Survey is a child that outlives its parent: it asks a week later.
func Survey(ctx *orchestration.Context, item string) (string, error) {
	return "how was the " + item + "?", ctx.Sleep(7 * 24 * time.Hour)
}

// Order ends when the parcel is on its way. The survey goes on, whatever becomes of the order.
func Order(ctx *orchestration.Context, item string) (string, error) {
	survey := orchestration.StartChild(ctx, Survey, item,
		orchestration.WithClosePolicy(orchestration.CloseAbandon),
		orchestration.WithCancellation(orchestration.Abandon),
		orchestration.WithAttribute("item", item))
	if _, err := survey.Started.Get(ctx); err != nil { // else it would never begin if the order ended now
		return "", err
	}
	return orchestration.CallOrchestration(ctx, Pack, item)
}

// Ship has the item packed, at most three times.
func Ship(ctx *orchestration.Context, item string) (string, error) {
	return orchestration.RetryOrchestration(ctx, orchestration.RetryPolicy{MaxAttempts: 3}, Pack, item,
		orchestration.WithInstanceID(ctx.Info().ID+"/parcel"))
}
