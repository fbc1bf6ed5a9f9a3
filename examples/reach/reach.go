// Package reach shows how code reaches instances that are not its children.
package reach

import (
	"errors"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Stock keeps the stock of one article. It is an instance of its own, which orders reach by its ID.
func Stock(ctx *orchestration.Context, left int) (int, error) {
	taken := orchestration.Events[int](ctx, "taken")
	for left > 0 {
		n, err := taken.Receive(ctx)
		if err != nil {
			return left, err
		}
		left -= n
	}
	return left, nil
}

// Survey asks the customer, days after the order has ended.
func Survey(ctx *orchestration.Context, _ string) (string, error) {
	return orchestration.Events[string](ctx, "answer").Receive(ctx, orchestration.Within(7*24*time.Hour))
}

// Order takes one piece from the stock and leaves a survey behind.
func Order(ctx *orchestration.Context, article string) (string, error) {
	_, err := orchestration.Raise(ctx, "stock/"+article, "taken", 1).Get(ctx)
	switch {
	case errors.Is(err, orchestration.ErrNotFound), errors.Is(err, orchestration.ErrEnded):
		return "no " + article + " left", nil
	case err != nil:
		return "", err
	}
	survey, err := orchestration.StartDetached(ctx, Survey, article, orchestration.WithInstanceID("survey/"+ctx.Info().ID)).Get(ctx)
	if errors.Is(err, orchestration.ErrExists) {
		return "ordered; the customer was asked before", nil
	}
	return "ordered; " + survey.ID + " follows", err
}

// Rounds starts one survey after the other. It is told when each has ended, although it continues as new in between.
func Rounds(ctx *orchestration.Context, customers []string) (int, error) {
	if len(customers) == 0 {
		return 0, nil
	}
	run, err := orchestration.StartDetached(ctx, Survey, customers[0], orchestration.TellEnd("survey over")).Get(ctx)
	if err != nil {
		return 0, err
	}
	over := orchestration.Events[orchestration.Ended](ctx, "survey over")
	_, err = over.Receive(ctx, orchestration.Within(24*time.Hour))
	if errors.Is(err, orchestration.ErrTimeout) {
		run.Cancel(ctx, "the next customer waits")
		_, err = over.Receive(ctx)
	}
	if err != nil {
		return 0, err
	}
	return 0, orchestration.ContinueAsNew(ctx, customers[1:])
}
