package observers

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// tree is that of one order. The second execution has a trace of its own.
var tree = []string{
	"/event go",
	"/run main",
	"/run main/activity broken 1",
	"/run main/activity flaky 1",
	"/run main/activity flaky 2",
	"/run main/activity work 1",
	"/run main/activity work 1",
	"/run main/run child",
	"/run main/run child/activity work 1",
	"/start main",
	"/start main/run main",
	"/start main/run main/activity work 1",
	"/update add",
}

// The tree of spans is the same with the cache on, off and evicted, on each store.
func TestSpansAreTheSameInEachMode(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		rt := e.Start(orders(e))
		play(e, rt)
		e.Stop(rt)
		if got := tr.tree(); !slices.Equal(got, tree) {
			e.T.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tree, "\n"))
		}
		var links []string
		for of, before := range tr.links {
			links = append(links, tr.names[of]+" to "+tr.names[before])
		}
		slices.Sort(links)
		if want := []string{"activity flaky 2 to activity flaky 1", "run main to run main"}; !slices.Equal(links, want) {
			e.T.Errorf("the links are %q, want %q", links, want)
		}
	})
}

// Another node goes on with the spans of one that has gone, although it has nothing in memory.
func TestSpansGoOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			if _, err := orchestration.CallActivityNamed[int](ctx, "work", n); err != nil {
				return 0, err
			}
			ctx.SetStatus("waiting")
			if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
				return 0, err
			}
			return orchestration.CallActivityNamed[int](ctx, "work", n)
		})
		enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) { return n, nil })
		one := e.Start(reg)
		h := start[int](e, one, 1)
		e.Until("it waits", func() bool {
			status, err := client.StatusOf[string](e.T.Context(), h)
			return err == nil && status == "waiting"
		})
		e.Stop(one)
		two := e.Start(reg)
		e.Raise(h.Key(), "go", 1)
		e.WaitEnded(h.Key())
		e.Stop(two)
		want := []string{"/start main", "/start main/run main", "/start main/run main/activity work 1", "/start main/run main/activity work 1"}
		if got := tr.tree(); !slices.Equal(got, want) {
			e.T.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A first turn that is not stored leaves no span.
func TestHazard90_TurnsThatAreNotStoredLeaveNoSpan(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", func(*octx, int) (int, error) { panic("boom") })
		rt := e.Start(reg)
		h := start[int](e, rt, 1)
		e.WaitBlocked(h.Key(), 3)
		e.Stop(rt)
		if got := tr.tree(); !slices.Equal(got, []string{"/start main"}) {
			e.T.Errorf("got %q", got)
		}
		e.Unchecked("the instance stays blocked")
	})
}

// An event that comes an hour later begins another trace, linked to the first. Each node knows the last anchor.
func TestAnchorsRollOver(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			for i := range 3 {
				ctx.SetStatus(i)
				if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
					return 0, err
				}
				if _, err := orchestration.CallActivityNamed[int](ctx, "work", n); err != nil {
					return 0, err
				}
			}
			return orchestration.CallOrchestrationNamed[int](ctx, "child", n)
		})
		enginetest.Orchestration(e.T, reg, "child", child)
		enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) { return n, nil })
		rt := e.Start(reg)
		h := start[int](e, rt, 1)
		for i, wait := range []time.Duration{59 * time.Minute, 2 * time.Minute, time.Minute} {
			e.Until("it waits", func() bool {
				status, err := client.StatusOf[int](e.T.Context(), h)
				return err == nil && status == i
			})
			pass(wait)
			e.Raise(h.Key(), "go", 1)
		}
		e.WaitEnded(h.Key())
		e.Stop(rt)
		want := []string{
			"/run main", "/run main/activity work 1", "/run main/activity work 1", "/run main/run child", "/run main/run child/activity work 1",
			"/start main", "/start main/run main", "/start main/run main/activity work 1",
		}
		if got := tr.tree(); !slices.Equal(got, want) || len(tr.links) != 1 {
			e.T.Errorf("%d links, got\n%s\nwant\n%s", len(tr.links), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Loggers of orchestrations and activities name the span.
func TestLoggersNameTheSpan(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTracer()
		var out lines
		e.Options.Observer, e.Options.Logger = tr, slog.New(slog.NewTextHandler(&out, nil))
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			ctx.Logger().Info("in main")
			return orchestration.CallActivityNamed[int](ctx, "work", n)
		})
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, n int) (int, error) {
			activity.Logger(ctx).Info("in work")
			if h := activity.GetInfo(ctx).Header; h["perdure.trace"] != "" || h["traceparent"] == "" {
				e.T.Errorf("the header of the activity is %q", h)
			}
			return n, nil
		})
		rt := e.Start(reg)
		h := start[int](e, rt, 1)
		e.WaitEnded(h.Key())
		e.Stop(rt)
		spans := map[string]string{}
		for of, name := range tr.names {
			parts := strings.Split(of, "-")
			spans[name] = "trace_id=" + parts[1] + " span_id=" + parts[2]
		}
		for text, want := range map[string][]string{
			"in main": {"instance=" + h.ID(), "execution=1", "orchestration=main", spans["run main"]},
			"in work": {"instance=" + h.ID(), "execution=1", "orchestration=main", "activity=work", "attempt=1", spans["activity work 1"]},
		} {
			line := out.with(text)
			for _, part := range want {
				if part == "" || !strings.Contains(line, part) {
					e.T.Errorf("%q does not contain %q", line, part)
				}
			}
		}
	})
}

// While nodes of an earlier release may use the store, no anchor is stored, and nothing else changes.
func TestNoAnchorsForOlderNodes(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		older, err := runtime.Start(upgrade.As(e.T.Context(), 7), e.Store, orders(e), e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		e.Stop(older)
		tr = newTracer()
		e.Options.Observer = tr
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", child)
		enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) { return n, nil })
		rt := e.Start(reg)
		h := start[int](e, rt, 1)
		e.WaitEnded(h.Key())
		e.Stop(rt)
		if got := tr.tree(); !slices.Equal(got, []string{"/activity work 1", "/start main"}) {
			e.T.Errorf("got %q", got)
		}
	})
}

// A context that is too long, or a header that is full, costs the anchor and nothing else.
func TestHazard63_AnchorsObeyTheLimits(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		rt := e.Start(orders(e))
		full := client.WithHeader("k", strings.Repeat("x", header.MaxBytes-20))
		h := start[int](e, rt, 1, full)
		e.Until("it waits", func() bool {
			status, err := client.StatusOf[string](e.T.Context(), h)
			return err == nil && status == "waiting"
		})
		if err := h.Raise(e.T.Context(), "go", 7); err != nil {
			e.T.Fatal(err)
		}
		e.WaitEnded(h.Key())
		e.Stop(rt)
		if slices.Contains(tr.tree(), "/start main/run main") || rt.Stats().HeadersLeftOut == 0 {
			e.T.Errorf("%d headers were left out, got %q", rt.Stats().HeadersLeftOut, tr.tree())
		}
		if n := tr.count(observe.Started, ""); n != 2 {
			e.T.Errorf("%d instances began", n)
		}
	})
}

// lines is a log.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// with returns the first line with a text.
func (l *lines) with(text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}
