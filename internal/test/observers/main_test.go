package observers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

type (
	octx = orchestration.Context
	none = orchestration.None
)

// recorder is an Observer that keeps all events.
type recorder struct {
	mu     sync.Mutex
	events []observe.Event
	nodes  int
	stores []*observe.Store
	gauges func() observe.Gauges
}

// Observe implements observe.Observer.
func (r *recorder) Observe(e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Watch implements observe.Watcher.
func (r *recorder) Watch(n observe.Node) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes++
	r.gauges = n.Gauges
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.nodes--
	}
}

// Store implements observe.Watcher.
func (r *recorder) Store(s *observe.Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stores = append(r.stores, s)
}

// of returns the events of a kind, and of an outcome unless that is "".
func (r *recorder) of(kind observe.Kind, outcome observe.Outcome) (found []observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind && (outcome == "" || e.Outcome == outcome) {
			found = append(found, e)
		}
	}
	return found
}

// count returns their number.
func (r *recorder) count(kind observe.Kind, outcome observe.Outcome) int {
	return len(r.of(kind, outcome))
}

// tracer is a recorder that makes spans, each with a number of its own.
type tracer struct {
	recorder

	last  int
	began map[string]string // context of a span and that of its parent
	names map[string]string // of spans that have ended, by context
	links map[string]string // context of an anchor and of the one before
}

func newTracer() *tracer {
	return &tracer{began: map[string]string{}, names: map[string]string{}, links: map[string]string{}}
}

// span begins a span.
func (tr *tracer) span(name, parent string) observe.Span {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.last++
	of := fmt.Sprintf("00-%032x-%016x-01", tr.last, tr.last)
	tr.began[of] = parent
	return observe.Span{Context: of, End: func(observe.Event) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.names[of] = name
	}}
}

// Send implements observe.Tracer.
func (tr *tracer) Send(_ context.Context, s observe.Sending) (header map[string]string, end func(error)) {
	span := tr.span(s.Kind+" "+s.Orchestration+s.Name, "")
	return map[string]string{"traceparent": span.Context}, func(error) { span.End(observe.Event{}) }
}

// Anchor implements observe.Tracer.
func (tr *tracer) Anchor(a observe.Anchoring) observe.Span {
	parent := a.Parent
	if parent == "" {
		parent = a.Header["traceparent"]
	}
	if a.Before != "" {
		parent = ""
	}
	s := tr.span("run "+a.Orchestration, parent)
	if a.Before != "" {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.links[s.Context] = a.Before
	}
	return s
}

// Attempt implements observe.Tracer.
func (tr *tracer) Attempt(ctx context.Context, a observe.Trying) (context.Context, observe.Span) {
	s := tr.span(fmt.Sprintf("activity %s %d", a.Activity, a.Attempt), a.Parent)
	if a.Before != "" {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.links[s.Context] = a.Before
	}
	return ctx, s
}

// tree returns the spans that have ended, each as the path of names from its root.
func (tr *tracer) tree() (paths []string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for of := range tr.names {
		path := ""
		for at := of; at != ""; at = tr.began[at] {
			name := tr.names[at]
			if name == "" {
				name = "?" // it never ended
			}
			path = "/" + name + path
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// start starts an instance of "main" through a client with the Observer of the node.
func start[Out any](e *enginetest.Engine, rt *runtime.Runtime, in any, opts ...client.StartOption) client.Handle[Out] {
	e.T.Helper()
	c, err := rt.Client(client.Options{})
	if err != nil {
		e.T.Fatal(err)
	}
	h, err := client.StartNamed[Out](e.T.Context(), c, "main", in, opts...)
	if err != nil {
		e.T.Fatal(err)
	}
	return h
}

type observerFunc func(observe.Event)

// Observe implements observe.Observer.
func (f observerFunc) Observe(e observe.Event) { f(e) }

// store returns the state of the store as the Observer got it last; nil: it is not known.
func (r *recorder) store() *observe.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.stores) == 0 {
		return nil
	}
	return r.stores[len(r.stores)-1]
}

// forget removes the last n events of a kind.
func (r *recorder) forget(kind observe.Kind, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.events) - 1; i >= 0 && n > 0; i-- {
		if r.events[i].Kind == kind {
			r.events = slices.Delete(r.events, i, i+1)
			n--
		}
	}
}

const time60 = time.Minute

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // in a bubble

// rest waits until the Observer has what it is to get.
func rest(e *enginetest.Engine) {
	if e.Virtual {
		pass(time.Second)
	}
}
