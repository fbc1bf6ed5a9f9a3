package headers

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// An update shows its header in the history, however it was sent. Its handler's activities have the header of the start.
func TestHeaderOfAnUpdate(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		e.Options.Propagators = []header.Propagator{header.Value("id", contextKey{})}
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "tell", func(ctx context.Context, _ none) (string, error) {
			id, _ := ctx.Value(contextKey{}).(string)
			return id, nil
		})
		main := orchestration.Define("main", func(ctx *octx, _ none) (none, error) {
			orchestration.HandleUpdate(ctx, "tell", func(ctx *octx, _ int) (string, error) {
				return orchestration.CallActivityNamed[string](ctx, "tell", none{})
			})
			return orchestration.Events[none](ctx, "done").Receive(ctx)
		})
		if err := runtime.AddOrchestration(reg, main); err != nil {
			e.T.Fatal(err)
		}
		rt := e.Start(reg)
		c, err := rt.Client(client.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		as := func(id string) context.Context { return context.WithValue(e.T.Context(), contextKey{}, id) }
		h, first, err := client.StartAndUpdate[string](as("r-1"), c, main, none{}, "tell", 1, client.WithHeader("n", "1"))
		if err != nil {
			e.T.Fatal(err)
		}
		second, err := client.SendUpdate[string](as("r-2"), h, "tell", 2, client.WithHeader("n", "2"))
		if err != nil {
			e.T.Fatal(err)
		}
		third, err := client.Update[string](as("r-3"), h, "tell", 3, client.WithHeader("n", "3"))
		if err != nil || third != "r-1" {
			e.T.Errorf("the third update returned %q, %v", third, err)
		}
		for _, u := range []client.UpdateHandle[string]{first, second} {
			if got, err := u.Wait(e.T.Context()); err != nil || got != "r-1" {
				e.T.Errorf("an update returned %q, %v", got, err)
			}
		}
		n := 0
		for shown, err := range h.History(e.T.Context(), 0) {
			if err != nil {
				e.T.Fatal(err)
			}
			if shown.Kind != history.KindUpdateReceived.String() {
				continue
			}
			n++
			digit := string(shown.Input)
			if want := (header.Map{"id": "r-" + digit, "n": digit}); !maps.Equal(shown.Header, want) {
				e.T.Errorf("update %s has header %v", digit, shown.Header)
			}
		}
		if n != 3 {
			e.T.Errorf("the history has %d updates", n)
		}
		bad := client.WithHeader("k", strings.Repeat("v", header.MaxBytes))
		_, updated := client.Update[string](e.T.Context(), h, "tell", 4, bad)
		_, sent := client.SendUpdate[string](e.T.Context(), h, "tell", 4, bad)
		_, _, started := client.StartAndUpdate[string](e.T.Context(), c, main, none{}, "tell", 4, bad)
		for _, err := range []error{updated, sent, started} {
			if !errors.Is(err, client.ErrTooLarge) {
				e.T.Errorf("a header that is too large: %v", err)
			}
		}
		if err := h.Raise(e.T.Context(), "done", none{}); err != nil {
			e.T.Fatal(err)
		}
		e.WaitEnded(h.Key())
	})
}
