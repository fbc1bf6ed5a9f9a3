// Package continueasnew keeps an account for years, and begins a new history each month. Updates change its state at any moment.
// orchestration.ContinueAsNewAfterHandlers lets those that are running finish, so the next month has all that they have changed.
package continueasnew

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// State is what one month leaves to the next.
type State struct {
	Cents  int
	Months int
}

// month is how long one execution lasts.
const month = 30 * 24 * time.Hour

// Account is open until it gets the event "close". It returns its last state.
func Account(ctx *orchestration.Context, s State) (State, error) {
	ctx.SetHandlerGrace(24 * time.Hour) // for deposits that are being booked when the month ends
	orchestration.HandleUpdate(ctx, "deposit", func(ctx *orchestration.Context, cents int) (int, error) {
		if _, err := orchestration.CallActivity(ctx, Book, cents, orchestration.WithRetry(orchestration.RetryPolicy{})); err != nil {
			return 0, err
		}
		s.Cents += cents
		return s.Cents, nil
	}, orchestration.Validate(positive))

	_, err := orchestration.Events[orchestration.None](ctx, "close").Receive(ctx, orchestration.Within(month))
	switch {
	case err == nil:
		err = ctx.AwaitHandlers() // then s has the last deposits
		return s, err
	case !errors.Is(err, orchestration.ErrTimeout):
		return s, err
	}
	s.Months++
	return s, orchestration.ContinueAsNewAfterHandlers(ctx, func() State { return s })
}

func positive(cents int) error {
	if cents <= 0 {
		return errors.New("a deposit is more than 0 cents")
	}
	return nil
}

// Book writes a deposit into the books of the bank.
func Book(ctx context.Context, cents int) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "book", "cents", cents)
	return activity.None{}, nil
}
