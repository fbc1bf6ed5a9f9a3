package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// Updates that fail at once with long errors leave a turn that a commit can hold.
func TestHazard54_LongErrorsBlockNobody(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		refuser := orchestration.Define("refuser", func(ctx *octx, _ none) (int, error) {
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
		h, ctx := orchestrationtest.Start(e, refuser, none{}), e.Context()
		text := strings.Repeat("x", 15<<10)
		var all []client.UpdateHandle[none]
		for range 300 {
			u, err := client.SendUpdate[none](ctx, h.Handle, "try", text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, u)
		}
		for i, u := range all {
			if _, err := u.Wait(ctx, client.UntilAccepted()); err != nil {
				t.Fatalf("update %d is not accepted: %v", i, err)
			}
		}
		if err := h.Raise(ctx, "open", none{}); err != nil {
			t.Fatal(err)
		}
		for i, u := range all {
			if _, err := u.Wait(ctx, client.OrBlocked()); !errors.Is(err, client.ErrUpdateFailed) {
				t.Fatalf("update %d: %.200v", i, err)
			}
		}
		if err := h.Raise(ctx, "done", none{}); err != nil {
			t.Fatal(err)
		}
		if n, err := h.Wait(ctx); err != nil || n != 7 {
			t.Errorf("ended with %d, %v", n, err)
		}
	})
}
