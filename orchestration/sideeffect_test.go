package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

// A side effect that uses the engine would be missing on replay. It is found when the code
// first runs, not when the instance is rebuilt a year later.
func TestSideEffectThatUsesTheEngine(t *testing.T) {
	t.Parallel()
	cases := map[string]func(ctx *octx){
		"activity": func(ctx *octx) { orchestration.StartActivity(ctx, Double, 1) },
		"sleep":    func(ctx *octx) { _ = ctx.Sleep(time.Second) },
		"rand":     func(ctx *octx) { ctx.NewUUID() },
		"events":   func(ctx *octx) { _, _, _ = orchestration.Events[int](ctx, "box").TryReceive() },
		"go":       func(ctx *octx) { ctx.Go(func(*octx) error { return nil }) },
		"cancel":   func(ctx *octx) { _, cancel := ctx.WithCancel(); cancel() },
		"nested": func(ctx *octx) {
			_, _ = orchestration.SideEffect(ctx, func() (int, error) { return 1, nil })
		},
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				e.Start(broken(e, func(ctx *octx, _ none) (string, error) {
					if err := ctx.Sleep(time.Second); err != nil {
						return "", err
					}
					_, err := orchestration.SideEffect(ctx, func() (int, error) {
						ctx.Logger().Info("at", "now", ctx.Now(), "id", ctx.Info().ID, "err", ctx.Err()) // harmless
						call(ctx)
						return 1, nil
					})
					return "done", errors.Join(err, ctx.Sleep(time.Second))
				}))
				b := e.WaitBlocked(e.Create("main", "main", none{}), 1).Blocked
				if b.Reason != "failed" || !strings.Contains(b.Message, "side effect") || !strings.Contains(b.Message, "sideeffect_test.go:") {
					e.T.Errorf("%+v", b)
				}
				othersGoOn(e)
			})
		})
	}
}

// A panic in a side effect leaves nothing in the history. Code that recovers it and
// continues could not be replayed, so the turn fails.
func TestSideEffectWhosePanicIsRecovered(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Start(broken(e, func(ctx *octx, _ none) (string, error) {
			func() {
				defer func() { _ = recover() }()
				_, _ = orchestration.SideEffect(ctx, func() (int, error) { panic("mine") })
			}()
			n, err := orchestration.CallActivity(ctx, Double, 2)
			return fmt.Sprint(n), err
		}))
		b := e.WaitBlocked(e.Create("main", "main", none{}), 1).Blocked
		if b.Reason != "panic" || !strings.Contains(b.Message, "mine") || !strings.Contains(b.Message, "sideeffect_test.go") {
			e.T.Errorf("%+v", b)
		}
		othersGoOn(e)
	})
}
