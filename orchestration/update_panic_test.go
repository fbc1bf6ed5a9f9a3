package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// As many panicking updates as one turn gets do not block the instance.
func TestHazard54_ManyPayloadsBlockNobody(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "basket", basket)
		rt := e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[[]string](ctx, e.Client(client.Options{}), "basket", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := client.Update[int](ctx, h, "add", "a"); err != nil {
			e.T.Fatal(err)
		}
		e.Stop(rt)
		var bad []client.UpdateHandle[int]
		for i := range 150 {
			bad = append(bad, send(e, h, "panic", fmt.Sprint("u-", i), "b"))
		}
		e.Start(reg)
		for i, u := range bad {
			if _, err := u.Wait(ctx, client.OrBlocked()); !errors.Is(err, client.ErrPanicked) {
				e.T.Fatalf("update %d: %v", i, err)
			}
		}
		if _, err := client.Update[int](ctx, h, "add", "c"); err != nil {
			e.T.Error(err)
		}
		finishBasket(e, h, "a", "c")
	})
}

// An update that a turn has only stored, because the code was about to end before it, may panic when the code runs.
func TestHazard54_HeldUpdatePanics(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		var begun atomic.Int32
		enginetest.Orchestration(e.T, reg, "ender", func(ctx *octx, _ none) (int, error) {
			orchestration.HandleUpdate(ctx, "panic", func(*octx, string) (int, error) {
				if begun.Add(1) < 10 { // else a turn that is made again and again would hang the test
					panic("cannot begin")
				}
				return 0, nil
			})
			_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
			return 7, err
		})
		rt := e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[int](ctx, e.Client(client.Options{}), "ender", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := client.Update[int](ctx, h, "other", none{}); !errors.Is(err, client.ErrUnknownUpdate) {
			e.T.Fatal(err)
		}
		e.Stop(rt)
		if err := h.Raise(ctx, "done", none{}); err != nil {
			e.T.Fatal(err)
		}
		u, err := client.SendUpdate[int](ctx, h, "panic", "a")
		if err != nil {
			e.T.Fatal(err)
		}
		for range 1_100 { // more than one fetch
			if err := h.Raise(ctx, "noise", none{}); err != nil {
				e.T.Fatal(err)
			}
		}
		e.Start(reg)
		if _, err := u.Wait(ctx, client.OrBlocked()); !errors.Is(err, client.ErrPanicked) {
			e.T.Fatalf("the update: %v", err)
		}
		if n, err := h.Wait(ctx); err != nil || n != 7 {
			e.T.Errorf("ended with %d, %v", n, err)
		}
		if n := strings.Count(kinds(e.History(h.Key(), 1)), "UpdateAccepted"); n != 1 {
			e.T.Errorf("the update was accepted %d times: no turn held it", n)
		}
		enginetest.Replays(e, h)
	})
}
