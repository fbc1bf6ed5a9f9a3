package orchestration_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

// A value that would be read back changed, or not at all, is refused where it is given, with its place.
func TestValuesThatWouldChangeAreRefused(t *testing.T) {
	t.Parallel()
	type box struct {
		Any  any
		Text string
	}
	bad := map[string]any{
		"Any is 9007199254740993": box{Any: int64(1<<53 + 1)},
		"Text is text":            box{Text: "caf\xe9"},
		"more than 10000 deep":    []any{json.RawMessage(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))},
	}
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		refused := func(what, says string, err error) {
			e.T.Helper()
			if err == nil || !strings.Contains(err.Error(), says) {
				e.T.Errorf("%s: %.300v, want it to say %q", what, err, says)
			}
		}
		for says, v := range bad {
			reg := registry(e.T)
			enginetest.Activity(e.T, reg, "gives", func(ctx context.Context, _ none) (any, error) {
				refused("heartbeat", says, activity.Heartbeat(ctx, v))
				return v, nil
			})
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
				orchestration.HandleQuery(ctx, "q", func(none) (any, error) { return v, nil })
				_, err := orchestration.CallActivityNamed[any](ctx, "gives", none{})
				if !errors.Is(err, orchestration.ErrPayload) {
					e.T.Errorf("the activity: %v", err)
				}
				refused("activity", says, err)
				_, err = orchestration.SideEffect(ctx, func() (any, error) { return v, nil })
				refused("side effect", says, err)
				ctx.SetStatus(v)
				_, err = orchestration.Events[any](ctx, "go").Receive(ctx)
				return none{}, err
			})
			rt := e.Start(reg)
			c := e.Client(client.Options{})
			_, err := client.StartNamed[none](e.T.Context(), c, "main", v)
			refused("start", says, err)
			if !errors.Is(err, client.ErrInvalid) {
				e.T.Errorf("start: %v, want ErrInvalid", err)
			}
			h, err := client.StartNamed[none](e.T.Context(), c, "main", none{})
			if err != nil {
				e.T.Fatal(err)
			}
			refused("event", says, h.Raise(e.T.Context(), "go", v))
			_, err = client.Update[none](e.T.Context(), h, "u", v)
			refused("update", says, err)
			_, err = client.Query[any](e.T.Context(), h, "q", none{})
			refused("answer", says, err)
			if err := h.Raise(e.T.Context(), "go", none{}); err != nil {
				e.T.Fatal(err)
			}
			if _, err := h.Wait(e.T.Context()); err != nil {
				e.T.Errorf("the instance failed: %v", err)
			}
			_, err = client.StatusOf[any](e.T.Context(), h)
			refused("status", says, err)
			e.Stop(rt)
		}
	})
}

// An output that nobody could read fails the instance, which does not show as completed, or the update.
func TestOutputsTooDeepFail(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		deep := []any{json.RawMessage(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))}
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (any, error) {
			orchestration.HandleUpdate(ctx, "u", func(*octx, none) (any, error) { return deep, nil })
			_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
			return deep, err
		})
		e.Start(reg)
		h, err := client.StartNamed[any](e.T.Context(), e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		_, err = client.Update[any](e.T.Context(), h, "u", none{})
		if !errors.Is(err, client.ErrUpdateFailed) || !errors.Is(err, orchestration.ErrPayload) || !strings.Contains(err.Error(), "deep") {
			e.T.Errorf("the update: %v", err)
		}
		e.Raise(h.Key(), "end", none{})
		if _, err := h.Wait(e.T.Context()); !errors.Is(err, client.ErrFailed) || !errors.Is(err, orchestration.ErrPayload) || !strings.Contains(err.Error(), "deep") {
			e.T.Errorf("ended with %v", err)
		}
	})
}
