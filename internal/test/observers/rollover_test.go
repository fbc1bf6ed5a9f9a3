package observers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// slow returns a registry with an orchestration as "main" that gets no message but results: of timers, of an activity that takes an
// hour, and of a child that does.
func slow(e *enginetest.Engine, main func(ctx *octx, n int) (int, error)) *runtime.Registry {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "main", main)
	enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, n int) (int, error) {
		if n == 0 {
			return 0, errNo
		}
		return n, ctx.Sleep(61 * time.Minute)
	})
	enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) { return n, nil })
	enginetest.Activity(e.T, reg, "long", func(_ context.Context, n int) (int, error) {
		pass(61 * time.Minute)
		if n == 0 {
			return 0, orchestration.NonRetryable(errNo)
		}
		return n, nil
	})
	return reg
}

// work calls the activity "work".
func work(ctx *octx) error {
	_, err := orchestration.CallActivityNamed[int](ctx, "work", 1)
	return err
}

// Results and timers that come an hour later begin another trace, too: of an instance that gets nothing else. Each node knows the last
// anchor. While nodes of an earlier release may use the store, they do not.
func TestAnchorsRollOverWithoutMessages(t *testing.T) {
	t.Parallel()
	first := []string{"/start main", "/start main/run main", "/start main/run main/activity work 1"}
	for name, c := range map[string]struct {
		main func(ctx *octx, n int) (int, error)
		late []string // under the second anchor
		old  []string // under the first one, while no other is allowed
	}{
		"timers": {
			main: func(ctx *octx, n int) (int, error) {
				for range 3 {
					if err := errors.Join(ctx.Sleep(40*time.Minute), work(ctx)); err != nil {
						return 0, err
					}
				}
				return n, nil
			},
			late: []string{"/activity work 1", "/activity work 1"},
		},
		"results": {
			main: func(ctx *octx, n int) (int, error) {
				if err := work(ctx); err != nil {
					return 0, err
				}
				if _, err := orchestration.CallActivityNamed[int](ctx, "long", n, orchestration.WithStartToCloseTimeout(2*time.Hour)); err != nil {
					return 0, err
				}
				return n, work(ctx)
			},
			old:  []string{"/activity long 1"},
			late: []string{"/activity work 1"},
		},
		"failures": {
			main: func(ctx *octx, n int) (int, error) {
				if err := work(ctx); err != nil {
					return 0, err
				}
				if _, err := orchestration.CallActivityNamed[int](ctx, "long", 0, orchestration.WithStartToCloseTimeout(2*time.Hour)); err == nil {
					return 0, errors.New("it did not fail")
				}
				return n, work(ctx)
			},
			old:  []string{"/activity long 1"},
			late: []string{"/activity work 1"},
		},
		"children": {
			main: func(ctx *octx, n int) (int, error) {
				if err := work(ctx); err != nil {
					return 0, err
				}
				if _, err := orchestration.CallOrchestrationNamed[int](ctx, "child", n); err != nil {
					return 0, err
				}
				return n, work(ctx)
			},
			old:  []string{"/run child"},
			late: []string{"/activity work 1"},
		},
	} {
		for level, rolls := range map[int64]bool{9: false, 10: true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				enginetest.EveryMode(t, func(e *enginetest.Engine) {
					tr := newTracer()
					e.Options.Observer = tr
					older, err := runtime.Start(upgrade.As(e.T.Context(), level), e.Store, orders(e), e.Options)
					if err != nil {
						e.T.Fatal(err)
					}
					e.Stop(older)
					rt := e.Start(slow(e, c.main))
					h := start[int](e, rt, 1)
					e.WaitEnded(h.Key())
					e.Stop(rt)
					want := slices.Clone(first)
					for _, path := range c.old {
						want = append(want, "/start main/run main"+path)
					}
					if name == "children" && rolls { // the child rolls over for itself, too
						want = append(want, "/run child")
					}
					late := "/start main/run main"
					if rolls {
						late = "/run main"
						want = append(want, late)
					}
					for _, path := range c.late {
						want = append(want, late+path)
					}
					slices.Sort(want)
					if got := tr.tree(); !slices.Equal(got, want) {
						e.T.Errorf("level %d, %d links, got\n%s\nwant\n%s", level, len(tr.links), strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				})
			})
		}
	}
}

// An event that nobody has read takes its anchor not along into the next execution, which has one of its own.
func TestAnchorsAreNotCarriedOver(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		rt := e.Start(slow(e, func(ctx *octx, n int) (int, error) {
			if n == 2 {
				return n, work(ctx)
			}
			if err := ctx.Sleep(100 * time.Minute); err != nil {
				return 0, err
			}
			return 0, orchestration.ContinueAsNew(ctx, 2)
		}))
		h := start[int](e, rt, 1)
		pass(61 * time.Minute)
		e.Raise(h.Key(), "go", 1)
		e.WaitEnded(h.Key())
		e.Stop(rt)
		follows := map[string]string{}
		for of, before := range tr.links {
			follows[before] = of
		}
		for of, name := range tr.names {
			if name == "activity work 1" && follows[tr.began[of]] != "" {
				e.T.Error("the second execution works under an anchor of the first")
			}
		}
		if len(follows) != 2 || !slices.Contains(tr.tree(), "/run main/activity work 1") {
			e.T.Errorf("%d links, got %q", len(follows), tr.tree())
		}
	})
}

// An event that comes again an hour later means nothing to the execution, and begins no trace.
func TestAnchorsOfRepeatsAreDropped(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		rt := e.Start(slow(e, func(ctx *octx, _ int) (int, error) {
			ctx.SetStatus("waiting")
			if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
				return 0, err
			}
			return orchestration.Events[int](ctx, "end").Receive(ctx)
		}))
		h := start[int](e, rt, 1)
		for _, wait := range []time.Duration{time.Minute, 61 * time.Minute, time.Minute} {
			e.Until("it waits", func() bool {
				status, err := client.StatusOf[string](e.T.Context(), h)
				return err == nil && status == "waiting"
			})
			pass(wait)
			if err := h.Raise(e.T.Context(), "go", 1, client.WithRequestID("again")); err != nil {
				e.T.Fatal(err)
			}
		}
		pass(time.Minute)
		for _, path := range tr.tree() {
			if path == "/run main" {
				e.T.Error("an event without effect began a trace")
			}
		}
		e.Raise(h.Key(), "end", 1)
		e.WaitEnded(h.Key())
		e.Stop(rt)
		if got := tr.tree(); !slices.Contains(got, "/run main") { // the event that ends it comes late, too
			e.T.Errorf("got %q", got)
		}
	})
}
