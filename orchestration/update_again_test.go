package orchestration_test

import (
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// A repeat of an update that goes on changes nothing: its callers get its outcome.
func TestUpdatesAreRepeatedWhileTheyGoOn(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		gate := func(ctx *octx, _ none) (int, error) {
			open := 0
			orchestration.HandleUpdate(ctx, "pass", func(ctx *octx, n int) (int, error) {
				_, err := orchestration.Events[none](ctx, "open").Receive(ctx)
				open += n
				return open, err
			})
			_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
			return open, err
		}
		enginetest.Orchestration(e.T, reg, "gate", gate)
		e.Start(reg)
		ctx, c, of := e.T.Context(), e.Client(client.Options{}), orchestration.Define("gate", gate)
		again := func() (client.Handle[int], client.UpdateHandle[int]) {
			h, u, err := client.StartAndUpdate[int](ctx, c, of, none{}, "pass", 5, client.WithID("gate-1"), client.WithUpdateID("u-1"),
				client.WithIDPolicy(client.UseExisting))
			if err != nil {
				e.T.Fatal(err)
			}
			return h, u
		}
		h, u := again()
		if _, err := outcomeOf(e, u, client.UntilAccepted()); err != nil {
			e.T.Fatal(err)
		}
		for range 3 {
			again()
		}
		e.Until("the repeats are taken", func() bool { return e.Get(h.Key()).InboxMessages == 0 })
		if got := stored(e, h.Key(), "u-1").Outcome; got != history.UpdateRunning {
			e.T.Errorf("after its repeats the update has the outcome %d", got)
		}
		if err := h.Raise(ctx, "open", none{}); err != nil {
			e.T.Fatal(err)
		}
		if n, err := outcomeOf(e, u); err != nil || n != 5 {
			e.T.Errorf("the update ended with %d, %v", n, err)
		}
		if err := h.Raise(ctx, "done", none{}); err != nil {
			e.T.Fatal(err)
		}
		if n, err := h.Wait(ctx); err != nil || n != 5 {
			e.T.Errorf("ended with %d, %v", n, err)
		}
		enginetest.Replays(e, h)
	})
}
