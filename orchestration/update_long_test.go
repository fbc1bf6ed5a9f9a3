package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Updates that fail at once with long errors leave a turn that a commit can hold.
func TestHazard54_LongErrorsBlockNobody(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "refuser", func(ctx *octx, _ none) (int, error) {
			opened := ctx.Go(func(ctx *octx) error {
				_, err := orchestration.Events[none](ctx, "open").Receive(ctx)
				return err
			})
			orchestration.HandleUpdate(ctx, "try", func(ctx *octx, text string) (none, error) {
				if _, err := opened.Get(ctx); err != nil {
					return none{}, err
				}
				bad := fmt.Errorf("cannot try %s", text)
				return none{}, errors.Join(bad, bad, bad, bad)
			})
			_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
			return 7, err
		})
		e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[int](ctx, e.Client(client.Options{}), "refuser", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		text := strings.Repeat("x", 15<<10)
		var all []client.UpdateHandle[none]
		for range 300 {
			u, err := client.SendUpdate[none](ctx, h, "try", text)
			if err != nil {
				e.T.Fatal(err)
			}
			all = append(all, u)
		}
		for i, u := range all {
			if _, err := u.Wait(ctx, client.UntilAccepted()); err != nil {
				e.T.Fatalf("update %d is not accepted: %v", i, err)
			}
		}
		if err := h.Raise(ctx, "open", none{}); err != nil {
			e.T.Fatal(err)
		}
		for i, u := range all {
			if _, err := u.Wait(ctx, client.OrBlocked()); !errors.Is(err, client.ErrUpdateFailed) {
				e.T.Fatalf("update %d: %.200v", i, err)
			}
		}
		if err := h.Raise(ctx, "done", none{}); err != nil {
			e.T.Fatal(err)
		}
		if n, err := h.Wait(ctx); err != nil || n != 7 {
			e.T.Errorf("ended with %d, %v", n, err)
		}
		enginetest.Replays(e, h)
	})
}
