package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

// A wait with a limit ends, although a handler that begins with it takes the event that was there. The event is not taken twice.
func TestWithinEndsAlthoughAHandlerTakesTheEvent(t *testing.T) {
	t.Parallel()
	for _, within := range []time.Duration{50 * time.Millisecond, time.Nanosecond, 0, -time.Second} {
		enginetest.EveryMode(t, func(e *enginetest.Engine) {
			reg := registry(e.T)
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
				box := orchestration.Events[int](ctx, "box")
				taken := 0
				orchestration.HandleEvent(ctx, "drain", func(*octx, none) error {
					n, _, err := box.TryReceive()
					taken += n
					return err
				})
				_, err := box.Receive(ctx, orchestration.Within(within))
				if !errors.Is(err, orchestration.ErrTimeout) {
					return "", fmt.Errorf("the wait has ended with: %w", err)
				}
				n, err := box.Receive(ctx, orchestration.Within(time.Hour))
				return fmt.Sprint(taken, " ", n), err
			})
			rt := e.Start(reg)
			h, err := client.StartNamed[string](e.T.Context(), e.Client(client.Options{}), "main", none{},
				client.WithEvent("drain", none{}), client.WithEvent("box", 1))
			if err != nil {
				e.T.Fatal(err)
			}
			e.Until("it waits for the second event", func() bool { return strings.Count(kinds(e.History(h.Key(), 1)), "TimerCreated") == 2 })
			e.Stop(rt)
			e.Raise(h.Key(), "box", 2)
			e.Start(reg)
			if got, err := h.Wait(e.T.Context()); got != "1 2" || err != nil {
				e.T.Errorf("within %v: %q, %v", within, got, err)
			}
			enginetest.Replays(e, h)
		})
	}
}
