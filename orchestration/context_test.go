package orchestration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// An orchestration's context must never pass where a context.Context is wanted: a database
// call would then run again on each replay, undurably. The method of notAContext is at the
// same depth as the one that Context would promote. If Context gets one, the selector is
// ambiguous and the package stops compiling.
type notAContext struct {
	*octx
	contextMethods
}

type contextMethods struct{}

func (contextMethods) Deadline() {}
func (contextMethods) Done()     {}
func (contextMethods) Value()    {}

var _ interface {
	Deadline()
	Done()
	Value()
} = notAContext{}

// The compile-time assertion above and this test say the same, so that a mutant can show it;
// no method returns a context.Context either.
func TestHazard44_ContextIsNoContext(t *testing.T) {
	t.Parallel()
	var c any = (*octx)(nil)
	if _, ok := c.(context.Context); ok {
		t.Error("*orchestration.Context is a context.Context")
	}
	standard := reflect.TypeFor[context.Context]()
	for method := range reflect.TypeFor[*octx]().Methods() {
		for out := range method.Type.Outs() {
			if out.Implements(standard) {
				t.Errorf("%s answers a %v", method.Name, out)
			}
		}
	}
}

// A context is of no use once its scope is over. Operations begun with it fail with an error
// that says why. Nothing is recorded, on every replay alike.
func TestHazard44_ContextEndsWithItsScope(t *testing.T) {
	t.Parallel()
	uses := map[string]func(ctx *octx) error{
		"sleep":     func(ctx *octx) error { return ctx.Sleep(time.Hour) },
		"err":       func(ctx *octx) error { return ctx.Err() },
		"activity":  func(ctx *octx) error { _, err := orchestration.CallActivity(ctx, Double, 1); return err },
		"child":     func(ctx *octx) error { _, err := orchestration.CallOrchestrationNamed[int](ctx, "x", 1); return err },
		"receive":   func(ctx *octx) error { _, err := orchestration.Events[int](ctx, "x").Receive(ctx); return err },
		"new scope": func(ctx *octx) error { inner, _ := ctx.WithCancel(); return inner.Sleep(time.Hour) },
		"timeout":   func(ctx *octx) error { inner, _ := ctx.WithTimeout(time.Minute); return inner.Sleep(time.Hour) },
		"coroutine": func(ctx *octx) error {
			_, err := ctx.Go(func(ctx *octx) error { return ctx.Sleep(time.Hour) }).Get(ctx)
			return err
		},
		"select": func(ctx *octx) error {
			_, err := orchestration.Select(ctx, orchestration.Events[int](ctx, "x"))
			return err
		},
	}
	ends := map[string]struct {
		scope func(ctx *octx) *octx
		want  error
	}{
		"returned": {func(ctx *octx) (inner *octx) {
			_, _ = ctx.Go(func(ctx *octx) error { inner = ctx; return nil }).Get(ctx)
			return inner
		}, orchestration.ErrInvalid},
		"cancelled": {func(ctx *octx) *octx {
			inner, cancel := ctx.WithCancel()
			cancel()
			return inner
		}, orchestration.ErrCancelled},
		"timed out": {func(ctx *octx) *octx {
			inner, _ := ctx.WithTimeout(time.Second)
			_ = inner.Sleep(time.Hour)
			return inner
		}, orchestration.ErrTimeout},
	}
	for name, use := range uses {
		for end, c := range ends {
			t.Run(name+"/"+end, func(t *testing.T) {
				t.Parallel()
				enginetest.EveryMode(t, func(e *enginetest.Engine) {
					key := start(e, registry(e.T), func(ctx *octx, _ none) (none, error) {
						over := c.scope(ctx)
						if err := use(over); !errors.Is(err, c.want) {
							return none{}, fmt.Errorf("used after its end: %w", err)
						}
						return none{}, ctx.Sleep(time.Second)
					}, none{})
					began := time.Now()
					enginetest.Output[none](e, key)
					if took := time.Since(began); took > time.Minute {
						e.T.Errorf("took %v", took)
					}
					if got := kinds(e.History(key, 1)); strings.Contains(got, "Activity") || strings.Contains(got, "Child") {
						e.T.Errorf("recorded %s", got)
					}
				})
			})
		}
	}
}

// A context of one execution is of no use in another: the turn that tries is blocked.
func TestHazard44_ContextOfAnotherExecution(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var leaked atomic.Pointer[octx]
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "leak", func(ctx *octx, _ none) (none, error) {
			leaked.Store(ctx)
			return none{}, ctx.Sleep(time.Hour)
		})
		enginetest.Orchestration(e.T, reg, "use", func(ctx *octx, _ none) (none, error) { return none{}, leaked.Load().Sleep(time.Hour) })
		e.Start(reg)
		source := e.Create("leak", "leak", none{})
		e.Until("it is leaked", func() bool { return e.Get(source).HistoryLength == 2 })
		if b := e.WaitBlocked(e.Create("use", "use", none{}), 1).Blocked; b.Reason != "failed" {
			e.T.Errorf("%+v", b)
		}
		if got := kinds(e.History(source, 1)); strings.Count(got, "TimerCreated") != 1 {
			e.T.Errorf("the other execution has %s", got)
		}
	})
}

// Everything that code may observe about itself is the same on every replay.
func TestNowUUIDRandAndSideEffectAreEqualOnReplay(t *testing.T) {
	t.Parallel()
	type seen struct {
		Now    []time.Time
		UUIDs  []string
		Floats []float64
		Effect []int
	}
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		var effects atomic.Int64
		reg := registry(e.T)
		look := func(ctx *octx, s *seen) error {
			n, err := orchestration.SideEffect(ctx, func() (int, error) { return int(effects.Add(1)), nil })
			s.Now, s.UUIDs = append(s.Now, ctx.Now()), append(s.UUIDs, ctx.NewUUID().String())
			s.Floats, s.Effect = append(s.Floats, ctx.Rand().Float64()), append(s.Effect, n)
			return err
		}
		key := start(e, reg, func(ctx *octx, _ none) (seen, error) {
			var s seen
			for i := range 5 {
				if err := look(ctx, &s); err != nil {
					return s, err
				}
				if _, err := orchestration.CallActivity(ctx, Double, i); err != nil {
					return s, err
				}
			}
			return s, look(ctx, &s)
		}, none{})
		got := enginetest.Output[seen](e, key)
		if want := []int{1, 2, 3, 4, 5, 6}; !cmp.Equal(got.Effect, want) || effects.Load() != 6 {
			e.T.Errorf("side effects returned %v and ran %d times", got.Effect, effects.Load())
		}
		distinct := map[string]bool{}
		for _, id := range got.UUIDs {
			distinct[id] = true
		}
		if len(distinct) != 6 {
			e.T.Errorf("UUIDs repeat: %v", got.UUIDs)
		}
		for i := range got.Now[1:] {
			if got.Now[i+1].Before(got.Now[i]) || got.Now[i].Location() != time.UTC {
				e.T.Errorf("time goes back or is not UTC: %v", got.Now)
			}
		}
	})
}

// Two executions of the same code draw different numbers.
func TestRandDiffersBetweenInstances(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		a := start(e, registry(e.T), func(ctx *octx, _ none) (string, error) { return ctx.NewUUID().String(), nil }, none{})
		b := e.Create("other", "main", none{})
		if x, y := enginetest.Output[string](e, a), enginetest.Output[string](e, b); x == y {
			e.T.Errorf("both drew %s", x)
		}
	})
}

func TestSideEffectKeepsItsError(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		runs := 0
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			_, failed := orchestration.SideEffect(ctx, func() (int, error) {
				runs++
				return 0, errors.New("no such setting")
			})
			if err := ctx.Sleep(time.Second); err != nil {
				return "", err
			}
			_, unencodable := orchestration.SideEffect(ctx, func() (func(), error) { return func() {}, nil })
			if !errors.Is(unencodable, orchestration.ErrPayload) {
				return "", unencodable
			}
			return failed.Error(), nil
		}, none{})
		if got := enginetest.Output[string](e, key); got != "no such setting" || runs != 1 {
			e.T.Errorf("got %q after %d runs", got, runs)
		}
	})
}

// A line is written when code passes it for the first time, and never on replay.
func TestLoggerIsSilentOnReplay(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var out bytes.Buffer
		e.Options.Logger = slog.New(slog.NewTextHandler(&out, nil))
		key := start(e, registry(e.T), func(ctx *octx, _ none) (none, error) {
			log := ctx.Logger().With("part", "test").WithGroup("g")
			defer log.Info("line end")
			log.Info("line begin")
			if err := ctx.Sleep(time.Minute); err != nil {
				return none{}, err
			}
			log.Info("line middle")
			return none{}, ctx.Sleep(time.Minute)
		}, none{})
		e.WaitEnded(key)
		for _, line := range []string{"line begin", "line middle", "line end"} {
			if n := strings.Count(out.String(), line); n != 1 {
				e.T.Errorf("%q was logged %d times:\n%s", line, n, &out)
			}
		}
		if !strings.Contains(out.String(), "instance=main") || !strings.Contains(out.String(), "g.") && !strings.Contains(out.String(), "part=test") {
			e.T.Errorf("attributes are missing:\n%s", &out)
		}
	})
}

func TestInfoNamesTheExecution(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) (orchestration.Info, error) {
			if n > 0 {
				return orchestration.Info{}, orchestration.ContinueAsNew(ctx, n-1)
			}
			return ctx.Info(), nil
		}, 2)
		got := enginetest.Output[orchestration.Info](e, key)
		want := orchestration.Info{
			ID: "main", Key: key.String(), Execution: 3, Orchestration: "main", RootID: "main", RootKey: key.String(),
			HistoryLength: 2, HistoryBytes: got.HistoryBytes,
			Started: time.UnixMicro(e.History(key, 3)[0].At).UTC(), FirstStarted: time.UnixMicro(e.History(key, 1)[0].At).UTC(),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			e.T.Error(diff)
		}
	})
}
