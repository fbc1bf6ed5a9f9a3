package otel_test

import (
	"context"
	"errors"
	"log"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/otel"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) {
	if of := os.Getenv(workerVariable); of != "" {
		if err := runWorker(of); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

type octx = orchestration.Context

// traced is a provider of the SDK whose spans a test sees.
type traced struct {
	*tracetest.InMemoryExporter

	provider *trace.TracerProvider
}

func newTraced() *traced {
	x := tracetest.NewInMemoryExporter()
	return &traced{x, trace.NewTracerProvider(trace.WithSyncer(x))}
}

// observer returns an observer that exports to it.
func (tr *traced) observer(t testing.TB, turns bool) *otel.Observer {
	t.Helper()
	o, err := otel.New(otel.Options{TracerProvider: tr.provider, TurnSpans: turns})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// tree returns the exported spans: see treeOf.
func (tr *traced) tree() []string {
	var spans []exported
	for _, s := range tr.GetSpans().Snapshots() {
		spans = append(spans, exportedOf(s))
	}
	return treeOf(spans)
}

// span returns the exported span of a name.
func (tr *traced) span(t testing.TB, name string) tracetest.SpanStub {
	t.Helper()
	for _, s := range tr.GetSpans() {
		if s.Name == name {
			return s
		}
	}
	t.Errorf("there is no span %q", name)
	return tracetest.SpanStub{}
}

var errNo = errors.New("no")

// order calls an activity that is tried twice, a child, and waits for an event, with an update meanwhile.
func order(ctx *octx, n int) (int, error) {
	orchestration.HandleUpdate(ctx, "add", func(_ *octx, more int) (int, error) { return n + more, nil })
	retry := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Millisecond})
	if _, err := orchestration.CallActivityNamed[int](ctx, "charge", n, retry); err != nil {
		return 0, err
	}
	if _, err := orchestration.CallOrchestrationNamed[int](ctx, "ship", n); err != nil {
		return 0, err
	}
	ctx.SetStatus("waiting")
	return orchestration.Events[int](ctx, "paid").Receive(ctx)
}

func orders(e *enginetest.Engine) *runtime.Registry {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "order", order)
	enginetest.Orchestration(e.T, reg, "ship", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "send", n)
	})
	first := true
	enginetest.Activity(e.T, reg, "charge", func(ctx context.Context, n int) (int, error) {
		if !api.SpanContextFromContext(ctx).IsValid() {
			e.T.Error("the activity has no span in its context")
		}
		if first {
			first = false
			return 0, errNo
		}
		return n, nil
	})
	enginetest.Activity(e.T, reg, "send", func(_ context.Context, n int) (int, error) { return n, nil })
	return reg
}

// waiting waits until an order waits for its event.
func waiting(e *enginetest.Engine, h client.Handle[int]) {
	e.T.Helper()
	e.Until("it waits", func() bool {
		status, err := client.StatusOf[string](e.T.Context(), h)
		return err == nil && status == "waiting"
	})
}

// start starts an order as part of a request of the caller.
func start(e *enginetest.Engine, tr *traced, rt *runtime.Runtime) client.Handle[int] {
	e.T.Helper()
	c, err := rt.Client(client.Options{})
	if err != nil {
		e.T.Fatal(err)
	}
	ctx, request := tr.provider.Tracer("test").Start(e.T.Context(), "request")
	defer request.End()
	h, err := client.StartNamed[int](ctx, c, "order", 1)
	if err != nil {
		e.T.Fatal(err)
	}
	return h
}

// wanted is the tree of one order.
var wanted = []string{
	"/raise paid",
	"/request",
	"/request/start order",
	"/request/start order/run order",
	"/request/start order/run order/activity charge",
	"/request/start order/run order/activity charge",
	"/request/start order/run order/end order",
	"/request/start order/run order/handle add",
	"/request/start order/run order/handle paid",
	"/request/start order/run order/run ship",
	"/request/start order/run order/run ship/activity send",
	"/request/start order/run order/run ship/end ship",
	"/update add",
}

// One order is one tree, with the cache on, off and evicted, and when another node goes on after the first has gone. Queries that replay
// add no span.
func TestOneOrderIsOneTree(t *testing.T) {
	t.Parallel()
	for name, another := range map[string]bool{"one node": false, "another node": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryStore(t, func(e *enginetest.Engine) {
				tr := newTraced()
				e.Options.Observer = tr.observer(e.T, false)
				reg := orders(e)
				rt := e.Start(reg)
				h := start(e, tr, rt)
				waiting(e, h)
				if another {
					e.Stop(rt)
					rt = e.Start(reg)
				}
				c, err := rt.Client(client.Options{})
				if err != nil {
					e.T.Fatal(err)
				}
				h = client.HandleOf[int](c, h.ID(), h.Key())
				if _, err := client.Update[int](e.T.Context(), h, "add", 1); err != nil {
					e.T.Fatal(err)
				}
				cold := fastpath.Without(e.T.Context(), fastpath.Cache)
				for range 100 {
					if _, err := client.Query[string](cold, h, "stack", nil); err != nil {
						e.T.Fatal(err)
					}
				}
				if err := h.Raise(e.T.Context(), "paid", 5); err != nil {
					e.T.Fatal(err)
				}
				e.WaitEnded(h.Key())
				e.Stop(rt)
				if got := tr.tree(); !slices.Equal(got, wanted) {
					e.T.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
				}
				for handled, sent := range map[string]string{"handle paid": "raise paid", "handle add": "update add"} {
					links := tr.span(e.T, handled).Links
					if len(links) != 1 || links[0].SpanContext.SpanID() != tr.span(e.T, sent).SpanContext.SpanID() {
						e.T.Errorf("%s has the links %v", handled, links)
					}
				}
				for _, s := range tr.GetSpans() {
					if s.Status.Code == codes.Error || s.EndTime.Before(s.StartTime) {
						e.T.Errorf("span %s: %v, from %v to %v", s.Name, s.Status, s.StartTime, s.EndTime)
					}
				}
			})
		})
	}
}

// The span of a failure has the status error and no text. A cancelled order and an attempt that is tried again have not failed.
func TestOnlyFailuresAreErrors(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTraced()
		e.Options.Observer = tr.observer(e.T, false)
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "order", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "charge", n, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2}))
		})
		enginetest.Orchestration(e.T, reg, "panics", func(*octx, int) (int, error) { panic("secret") })
		enginetest.Orchestration(e.T, reg, "sleeps", func(ctx *octx, _ int) (int, error) { return 0, ctx.Sleep(time.Hour) })
		enginetest.Activity(e.T, reg, "charge", func(context.Context, int) (int, error) { return 0, errors.New("secret") })
		rt := e.Start(reg)
		h := start(e, tr, rt)
		e.WaitEnded(h.Key())
		sleeps := e.Create("sleeps", "sleeps", 1)
		e.Cancel(sleeps, "")
		e.WaitEnded(sleeps)
		e.WaitBlocked(e.Create("panics", "panics", 1), 3)
		e.Stop(rt)
		failed := map[string]int{}
		for _, s := range tr.GetSpans() {
			if s.Status.Code == codes.Error {
				failed[s.Name]++
			}
			if s.Status.Description != "" || len(s.Events) > 0 {
				e.T.Errorf("span %s tells %q, %v", s.Name, s.Status.Description, s.Events)
			}
			for _, a := range s.Attributes {
				if strings.Contains(a.Value.String(), "secret") {
					e.T.Errorf("span %s: %v", s.Name, a)
				}
			}
		}
		for name, want := range map[string]int{"activity charge": 1, "end order": 1, "blocked panics": 1, "end sleeps": 0, "run order": 0} {
			if failed[name] != want {
				e.T.Errorf("%d errors of %s, want %d", failed[name], name, want)
			}
		}
		if len(failed) != 3 {
			e.T.Errorf("errors of %v", failed)
		}
		e.Unchecked("an instance stays blocked")
	})
}

// An execution that continues as new has a trace of its own, linked to the one before.
func TestContinueAsNewBeginsATrace(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTraced()
		e.Options.Observer = tr.observer(e.T, false)
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "order", func(ctx *octx, n int) (int, error) {
			if _, err := orchestration.CallActivityNamed[int](ctx, "send", n); err != nil || n == 3 {
				return n, err
			}
			return 0, orchestration.ContinueAsNew(ctx, n+1)
		})
		enginetest.Activity(e.T, reg, "send", func(_ context.Context, n int) (int, error) { return n, nil })
		rt := e.Start(reg)
		e.WaitEnded(start(e, tr, rt).Key())
		e.Stop(rt)
		want := []string{
			"/request", "/request/start order", "/request/start order/run order", "/request/start order/run order/activity send",
			"/request/start order/run order/end order",
			"/run order", "/run order", "/run order/activity send", "/run order/activity send", "/run order/end order", "/run order/end order",
		}
		slices.Sort(want)
		if got := tr.tree(); !slices.Equal(got, want) {
			e.T.Errorf("got\n%s", strings.Join(got, "\n"))
		}
		linked := 0
		for _, s := range tr.GetSpans() {
			if s.Name == "run order" && len(s.Links) == 1 && s.Links[0].SpanContext.TraceID() != s.SpanContext.TraceID() {
				linked++
			}
		}
		if linked != 2 {
			e.T.Errorf("%d anchors are linked to the one before, want 2", linked)
		}
	})
}

// With TurnSpans each stored turn has a span.
func TestTurnSpans(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		tr := newTraced()
		e.Options.Observer = tr.observer(e.T, true)
		rt := e.Start(orders(e))
		h := start(e, tr, rt)
		waiting(e, h)
		e.Raise(h.Key(), "paid", 1)
		e.WaitEnded(h.Key())
		e.Stop(rt)
		n := 0
		for _, path := range tr.tree() {
			if path == "/request/start order/run order/turn order" {
				n++
			}
		}
		if n != 4 { // start, charge, ship, paid
			e.T.Errorf("%d turns:\n%s", n, strings.Join(tr.tree(), "\n"))
		}
	})
}

// An unsampled trace stays so on all nodes.
func TestUnsampledTracesStaySo(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		x := tracetest.NewInMemoryExporter()
		tr := &traced{x, trace.NewTracerProvider(trace.WithSyncer(x), trace.WithSampler(trace.ParentBased(trace.NeverSample())))}
		e.Options.Observer = tr.observer(e.T, true)
		rt := e.Start(orders(e))
		h := start(e, tr, rt)
		waiting(e, h)
		e.Raise(h.Key(), "paid", 1)
		e.WaitEnded(h.Key())
		e.Stop(rt)
		if got := tr.tree(); len(got) != 0 {
			e.T.Errorf("got %q", got)
		}
	})
}

// Without a provider there is no observer.
func TestProviderIsRequired(t *testing.T) {
	t.Parallel()
	if _, err := otel.New(otel.Options{}); !errors.Is(err, otel.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

// run starts a node with spans.
func run(ctx context.Context, provider api.TracerProvider) error {
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, orchestration.Define("order", order)); err != nil {
		return err
	}
	observer, err := otel.New(otel.Options{TracerProvider: provider})
	if err != nil {
		return err
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Observer: observer})
	if err != nil {
		return err
	}
	return rt.Shutdown(ctx)
}

func Example() {
	provider := trace.NewTracerProvider() // give it your exporter
	if err := run(context.Background(), provider); err != nil {
		log.Panic(err)
	}
	// Output:
}
