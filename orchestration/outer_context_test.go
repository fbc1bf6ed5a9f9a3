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

// While a handler outlives the function, the function's own contexts take no work. That of the handler does.
func TestTheFunctionsContextEndsWithIt(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		gate := make(chan none)
		enginetest.Activity(e.T, reg, "gate", gated(gate))
		enginetest.Orchestration(e.T, reg, "main", func(main *octx, _ none) (string, error) {
			scope, _ := main.WithCancel()
			detached := main.Detached()
			orchestration.HandleUpdate(main, "try", func(ctx *octx, _ none) (string, error) {
				if _, err := orchestration.CallActivityNamed[none](ctx, "gate", none{}); err != nil {
					return "", err
				}
				var wrong []string
				for name, used := range map[string]*octx{"main": main, "scope": scope, "detached": detached} {
					for what, err := range map[string]error{
						"activity": second(orchestration.CallActivityNamed[int](used, "Double", 1)),
						"timer":    used.Sleep(time.Hour),
						"child":    second(orchestration.CallOrchestrationNamed[none](used, "elsewhere", none{})),
						"event":    second(orchestration.Events[none](used, "never").Receive(used)),
						"within":   second(orchestration.Events[none](used, "never").Receive(used, orchestration.Within(time.Hour))),
						"wait":     used.AwaitHandlers(),
					} {
						if !errors.Is(err, orchestration.ErrInvalid) && !errors.Is(err, orchestration.ErrCancelled) {
							wrong = append(wrong, fmt.Sprintf("%s with %s: %v", what, name, err))
						}
					}
				}
				n, err := orchestration.CallActivityNamed[int](ctx, "Double", 2)
				return fmt.Sprint(wrong, n), err
			})
			_, err := orchestration.Events[none](main, "stop").Receive(main)
			return "main", err
		})
		e.Start(reg)
		h, err := client.StartNamed[[]int](e.T.Context(), e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		u, err := client.SendUpdate[string](e.T.Context(), h, "try", none{})
		if err == nil {
			_, err = u.Wait(e.T.Context(), client.UntilAccepted())
		}
		if err != nil {
			e.T.Fatal(err)
		}
		e.Raise(h.Key(), "stop", none{})
		e.Until("the function has returned", func() bool { return strings.Contains(kinds(e.History(h.Key(), 1)), "MainReturned") })
		close(gate)
		if got, err := u.Wait(e.T.Context()); got != "[] 4" || err != nil {
			e.T.Errorf("the handler: %q, %v", got, err)
		}
		if got := enginetest.Output[string](e, h.Key()); got != "main" {
			e.T.Errorf("got %q", got)
		}
		enginetest.Replays(e, h)
	})
}

func second[T any](_ T, err error) error { return err }
