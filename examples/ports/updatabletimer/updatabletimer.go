// Package updatabletimer waits until a time that may change while it waits. A durable timer bounds the wait for the event that moves
// it: Mailbox.Receive with orchestration.Within. A query tells when the wait is over.
package updatabletimer

import (
	"errors"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// Wait returns the time at which it stopped waiting. An event "move" has a new time.
func Wait(ctx *orchestration.Context, until time.Time) (time.Time, error) {
	orchestration.HandleQuery(ctx, "until", func(orchestration.None) (time.Time, error) { return until, nil })
	moves := orchestration.Events[time.Time](ctx, "move")
	for {
		moved, err := moves.Receive(ctx, orchestration.Within(until.Sub(ctx.Now())))
		switch {
		case errors.Is(err, orchestration.ErrTimeout):
			return ctx.Now(), nil
		case err != nil:
			return time.Time{}, err
		}
		until = moved
	}
}
