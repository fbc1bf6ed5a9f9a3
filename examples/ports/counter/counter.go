// Package counter waits until a counter fulfils a condition: ctx.Await. Events and updates change the counter, and a handler waits for a
// condition of its own.
package counter

import (
	"errors"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Goal says how much the counter has to reach, and how long it may take.
type Goal struct {
	Count    int
	Patience time.Duration
}

// Reach counts until the goal is reached or the patience is over, and returns the count. An event "add" adds to it. An update "take" waits
// until there is enough, takes that and returns what is left.
func Reach(ctx *orchestration.Context, goal Goal) (int, error) {
	count := 0
	orchestration.HandleEvent(ctx, "add", func(_ *orchestration.Context, n int) error {
		count += n
		return nil
	})
	orchestration.HandleUpdate(ctx, "take", func(ctx *orchestration.Context, n int) (int, error) {
		if err := ctx.Await(func() bool { return count >= n }); err != nil {
			return 0, err
		}
		count -= n
		return count, nil
	})
	err := ctx.Await(func() bool { return count >= goal.Count }, orchestration.Within(goal.Patience))
	if errors.Is(err, orchestration.ErrTimeout) {
		return count, nil
	}
	return count, err
}
