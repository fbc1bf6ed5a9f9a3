package dispatcher_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// endless has loops that call the engine and wait for nothing. Each continues while turn returns true.
func endless(turn func() bool) map[string]func(ctx *octx) {
	return map[string]func(ctx *octx){
		"reads": func(ctx *octx) {
			for turn() {
				_ = ctx.Now()
			}
		},
		"empty mailbox": func(ctx *octx) {
			for turn() {
				_, _, _ = orchestration.Events[int](ctx, "none").TryReceive()
			}
		},
		"refused calls": func(ctx *octx) {
			for turn() {
				_, _ = orchestration.SideEffect(ctx, func() (none, error) { return none{}, nil })
			}
		},
		"coroutines": func(ctx *octx) {
			for range 2 {
				ctx.Go(func(ctx *octx) error {
					for turn() {
						_, _ = ctx.Go(func(*octx) error { return errors.New("at once") }).Get(ctx)
					}
					return nil
				})
			}
			_ = ctx.Sleep(time.Second)
		},
	}
}

// An endless loop that calls the engine is found like a deadlock. Its instance is blocked, its slot is free, and
// nothing of its turn is stored. Mended code continues.
func TestHazard20_EndlessLoopIsFound(t *testing.T) {
	t.Parallel()
	for name := range endless(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: 1, Lease: time.Hour}, func(e *enginetest.Engine) {
				var mended atomic.Bool
				var turns atomic.Int64
				loop := endless(func() bool {
					time.Sleep(3 * time.Millisecond) //nolint:forbidigo // virtual time
					return !mended.Load() && turns.Add(1) < 300_000
				})[name]
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "loops", func(ctx *octx, _ none) (string, error) {
					loop(ctx)
					return "mended", nil
				})
				enginetest.Orchestration(e.T, reg, "other", func(*octx, none) (string, error) { return "other", nil })
				rt := e.Start(reg)
				key := e.Create("loops", "loops", none{})
				b := e.WaitBlocked(key, 1).Blocked
				if b.Reason != "endless-loop" || !strings.Contains(b.Message, "loop_test.go") || !strings.Contains(b.Message, "waited for nothing") {
					e.T.Errorf("%+v", b)
				}
				if got := enginetest.Output[string](e, e.Create("other", "other", none{})); got != "other" {
					e.T.Errorf("got %q", got)
				}
				if i := e.WaitBlocked(key, 3); i.Blocked.RetryAt != 0 || i.HistoryLength != 0 {
					e.T.Errorf("the third time it is %+v, with %d events", i.Blocked, i.HistoryLength)
				}
				if s := rt.Stats(); s.TurnsStuck < 3 || s.TurnsRunning != 0 {
					e.T.Errorf("%+v", s)
				}
				mended.Store(true)
				e.Steer(key, provider.SteerUnblock)
				if got := enginetest.Output[string](e, key); got != "mended" {
					e.T.Errorf("got %q", got)
				}
			})
		})
	}
}

// A turn may take long, call the engine often, or both: each call that has an effect shows that the code makes progress. So does each message that is
// applied again when a history is replayed.
func TestHazard20_LongTurnsAreNoLoops(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Options.Lease = 10 * time.Hour
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "long", func(ctx *octx, n int) (int, error) {
			box := orchestration.Events[int](ctx, "box")
			for range 3 * n { // many calls, soon over
				_ = ctx.Now()
			}
			for range 2 { // many messages, and commands in response to each
				if _, err := box.Receive(ctx); err != nil {
					return 0, err
				}
				for range n / 3 {
					time.Sleep(10 * time.Millisecond) //nolint:forbidigo // virtual time
					_ = ctx.Now()
					_ = ctx.NewUUID()
					if _, err := orchestration.SideEffect(ctx, func() (none, error) { return none{}, nil }); err != nil {
						return 0, err
					}
				}
			}
			return n, nil
		})
		rt := e.Start(reg)
		key := e.Create("long", "long", 12_000)
		e.Raise(key, "box", 1)
		e.Until("the first half is done", func() bool { return e.Get(key).HistoryLength > 4_000 })
		e.Raise(key, "box", 2)
		if got := enginetest.Output[int](e, key); got != 12_000 {
			e.T.Errorf("got %d", got)
		}
		if s := rt.Stats(); s.TurnsStuck != 0 || s.TurnsFailed != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}
