package orchestration_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// updatePoint returns the event ID of an update in the current history.
func updatePoint(e *enginetest.Engine, h client.Handle[[]string], id string) int64 {
	e.T.Helper()
	for _, event := range events(e, h) {
		if b, ok := event.Body.(*history.UpdateReceived); ok && b.ID == id {
			return event.ID
		}
	}
	e.T.Fatalf("no update %s", id)
	return 0
}

// An update that was answered behind the point is discarded: it never runs again under its ID. One that had its outcome
// before keeps it, and one that had none goes on.
func TestHazard58_ResetsDiscardLaterUpdates(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c, h := startBasket(e)
		ctx := e.T.Context()
		update := func(name, item, id string, opts ...client.UpdateOption) (int, error) {
			return client.Update[int](ctx, h, name, item, append(opts, client.WithUpdateID(id))...)
		}
		for n, id := range []string{"first", "second"} {
			if got, err := update("add", id, id); got != n+1 || err != nil {
				e.T.Fatal(got, err)
			}
		}
		execution, err := client.Reset(ctx, h, updatePoint(e, h, "second"))
		if execution != 2 || err != nil {
			e.T.Fatal(execution, err)
		}
		if got, err := client.UpdateOf[int](h, "first").Wait(ctx); got != 1 || err != nil {
			e.T.Errorf("the update before the point: %d, %v", got, err)
		}
		for range 2 {
			if _, err := client.UpdateOf[int](h, "second").Wait(ctx); !errors.Is(err, client.ErrDiscarded) {
				e.T.Errorf("the update behind the point: %v", err)
			}
			if _, err := update("add", "second", "second"); !errors.Is(err, client.ErrDiscarded) {
				e.T.Errorf("a repeat: %v", err)
			}
		}
		if got, err := update("add", "third", "third"); got != 2 || err != nil {
			e.T.Errorf("the next update: %d, %v", got, err)
		}
		if _, err := client.Query[[]string](ctx, h, "items", nil); err != nil {
			e.T.Error(err)
		}
		finishBasket(e, client.HandleOf[[]string](c, h.ID(), h.Key()), "first", "third")
	})
}

// An update without an outcome is received again behind the point. One that was accepted before the point goes on from there, also if it
// was over by then.
func TestHazard58_ResetsKeepOpenUpdates(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		_, h := startBasket(e)
		ctx := e.T.Context()
		open, err := client.SendUpdate[int](ctx, h, "held", "open", client.WithUpdateID("open"))
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := client.Update[int](ctx, h, "add", "later", client.WithUpdateID("later")); err != nil {
			e.T.Fatal(err)
		}
		if err := h.Raise(ctx, "go", none{}); err != nil {
			e.T.Fatal(err)
		}
		if got, err := open.Wait(ctx); got != 2 || err != nil {
			e.T.Fatal(got, err)
		}
		if _, err := client.Reset(ctx, h, updatePoint(e, h, "later")); err != nil { // the handler waits there
			e.T.Fatal(err)
		}
		if got, err := open.Wait(ctx); got != 1 || err != nil {
			e.T.Errorf("accepted before the point: %d, %v", got, err)
		}
		finishBasket(e, h, "open")
	})
}

// A fork has none of its origin's outcomes, and handles the updates that were open at the point.
func TestHazard58_ForksHaveUpdatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		_, h := startBasket(e)
		ctx := e.T.Context()
		for _, id := range []string{"first", "second"} {
			if _, err := client.Update[int](ctx, h, "add", id, client.WithUpdateID(id)); err != nil {
				e.T.Fatal(err)
			}
		}
		f, err := client.Fork(ctx, h, updatePoint(e, h, "second"), "fork")
		if err != nil {
			e.T.Fatal(err)
		}
		if got, err := client.Update[int](ctx, f, "add", "second", client.WithUpdateID("second")); got != 2 || err != nil {
			e.T.Errorf("the fork handles an update of that ID: %d, %v", got, err)
		}
		finishBasket(e, f, "first", "second")
		if got, err := client.UpdateOf[int](h, "second").Wait(ctx); got != 2 || err != nil {
			e.T.Errorf("the origin: %d, %v", got, err)
		}
		if items, err := client.Query[[]string](ctx, h, "items", nil); !slices.Equal(items, []string{"first", "second"}) || err != nil {
			e.T.Errorf("the origin has %v, %v", items, err)
		}
	})
}

// An end refuses an update that no handler has taken, without an event. After a reset it does not run either: its caller was told.
func TestHazard58_ResetsRunNoRefusedUpdate(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		ran := 0
		main := orchestration.Define("main", func(ctx *octx, listens bool) (int, error) {
			if !listens {
				return 0, nil
			}
			orchestration.HandleUpdate(ctx, "add", func(*octx, int) (int, error) {
				ran++
				return ran, nil
			})
			return orchestration.Events[int](ctx, "done").Receive(ctx)
		})
		if err := runtime.AddOrchestration(reg, main); err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		ctx, c := e.T.Context(), e.Client(client.Options{})
		h, u, err := client.StartAndUpdate[int](ctx, c, main, false, "add", 1, client.WithUpdateID("late"), client.WithDelay(10*time.Millisecond))
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := u.Wait(ctx); err == nil || errors.Is(err, client.ErrDiscarded) {
			e.T.Fatal(err)
		}
		e.WaitEnded(h.Key())
		if _, err := client.Reset(ctx, h, 1, client.WithInput(true)); err != nil {
			e.T.Fatal(err)
		}
		if _, err := client.Update[int](ctx, h, "add", 2); err != nil {
			e.T.Error(err)
		}
		// An update that came behind the end became no event, and keeps its refusal.
		if _, err := u.Wait(ctx); !errors.Is(err, client.ErrDiscarded) && !errors.Is(err, client.ErrEnded) || ran != 1 {
			e.T.Errorf("the refused update: %v, and handlers ran %d times", err, ran)
		}
	})
}
