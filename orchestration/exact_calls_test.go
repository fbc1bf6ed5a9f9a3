package orchestration_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

type changeable struct {
	Any  any
	Text string
}

// inexactValues are values that the receiver would get changed, or not at all, by what says so.
func inexactValues() map[string]any {
	return map[string]any{
		"Any is 9007199254740993": changeable{Any: int64(1<<53 + 1)},
		"Text is text":            changeable{Text: "caf\xe9"},
		"more than 10000 deep":    []any{json.RawMessage(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))},
	}
}

// Code cannot give a value to a call that the receiver would get changed. The call fails, and the code goes on.
func TestInputsThatWouldChangeAreRefused(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		for says, v := range inexactValues() {
			reg := registry(e.T)
			enginetest.Activity(e.T, reg, "takes", func(context.Context, any) (none, error) { return none{}, nil })
			enginetest.Orchestration(e.T, reg, "kid", func(*octx, any) (none, error) { return none{}, nil })
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
				call := func(_ any, err error) error { return err }
				detached, err := orchestration.StartDetachedNamed(ctx, "kid", none{}, orchestration.WithInstanceID(ctx.Info().ID+"-other")).Get(ctx)
				if err != nil {
					return none{}, err
				}
				for what, err := range map[string]error{
					"activity":       call(orchestration.CallActivityNamed[none](ctx, "takes", v)),
					"local activity": call(orchestration.CallLocalNamed[none](ctx, "takes", v)),
					"child":          call(orchestration.CallOrchestrationNamed[none](ctx, "kid", v)),
					"detached":       call(orchestration.StartDetachedNamed(ctx, "kid", v).Get(ctx)),
					"event":          call(orchestration.Raise(ctx, detached.ID, "event", v).Get(ctx)),
					"continue":       orchestration.ContinueAsNew(ctx, v),
					"late continue":  orchestration.ContinueAsNewAfterHandlers(ctx, func() any { return v }),
				} {
					if !errors.Is(err, orchestration.ErrPayload) || !strings.Contains(err.Error(), says) {
						e.T.Errorf("%s: %.300v, want ErrPayload that says %q", what, err, says)
					}
				}
				return none{}, nil
			})
			rt := e.Start(reg)
			h, err := client.StartNamed[none](e.T.Context(), e.Client(client.Options{}), "main", none{})
			if err != nil {
				e.T.Fatal(err)
			}
			if _, err := h.Wait(e.T.Context()); err != nil {
				e.T.Errorf("the instance failed: %.300v", err)
			}
			enginetest.Replays(e, h)
			e.Stop(rt)
		}
	})
}

// An output that the reader would get changed fails the instance, or the update.
func TestOutputsThatWouldChangeFail(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		for says, v := range inexactValues() {
			reg := registry(e.T)
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (any, error) {
				orchestration.HandleUpdate(ctx, "u", func(*octx, none) (any, error) { return v, nil })
				_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
				return v, err
			})
			rt := e.Start(reg)
			h, err := client.StartNamed[any](e.T.Context(), e.Client(client.Options{}), "main", none{})
			if err != nil {
				e.T.Fatal(err)
			}
			_, updated := client.Update[any](e.T.Context(), h, "u", none{})
			e.Raise(h.Key(), "end", none{})
			_, ended := h.Wait(e.T.Context())
			for what, err := range map[string]error{"update": updated, "function": ended} {
				if !errors.Is(err, orchestration.ErrPayload) || !strings.Contains(err.Error(), says) {
					e.T.Errorf("%s: %.300v, want ErrPayload that says %q", what, err, says)
				}
			}
			enginetest.Replays(e, h)
			e.Stop(rt)
		}
	})
}

// An execution of an earlier level goes on as it did: its calls and its output are stored, although they change.
func TestOlderExecutionsMayGiveWhatChanges(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		v := changeable{Any: int64(1<<53 + 1), Text: "caf\xe9"}
		enginetest.Activity(e.T, reg, "takes", func(_ context.Context, got changeable) (string, error) { return got.Text, nil })
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (any, error) {
			got, err := orchestration.CallActivityNamed[string](ctx, "takes", v)
			if err != nil || got != "caf\ufffd" {
				e.T.Errorf("the activity got %q, %v", got, err)
			}
			return v, err
		})
		e.Start(reg)
		key := e.CreateWith("old", "main", none{}, replay.SettingsAt(replay.LevelOfAnchors))
		e.WaitEnded(key)
		h, err := client.LookupKey[any](e.T.Context(), e.Client(client.Options{}), key)
		if err != nil {
			e.T.Fatal(err)
		}
		if out, err := h.Wait(e.T.Context()); err != nil {
			e.T.Errorf("%v, %v", out, err)
		}
		enginetest.Replays(e, h)
	})
}
