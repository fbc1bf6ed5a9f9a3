package headers

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

type (
	octx = orchestration.Context
	none = orchestration.None
)

// everyStore runs a test on memory and SQLite in each mode of the cache, and on Postgres.
func everyStore(t *testing.T, test func(e *enginetest.Engine)) {
	t.Helper()
	enginetest.EveryStore(t, test)
	if testing.Short() {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t)
		p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		test(enginetest.On(t, p, runtime.Options{}))
	})
}

// propagator is one that a test makes of functions.
type propagator struct {
	inject  func(ctx context.Context, h header.Map)
	extract func(ctx context.Context, h header.Map) context.Context
}

// Inject implements header.Propagator.
func (p propagator) Inject(ctx context.Context, h header.Map) {
	if p.inject != nil {
		p.inject(ctx, h)
	}
}

// Extract implements header.Propagator.
func (p propagator) Extract(ctx context.Context, h header.Map) context.Context {
	if p.extract == nil {
		return ctx
	}
	return p.extract(ctx, h)
}

// seen collects what activities saw.
type seen struct {
	mu  sync.Mutex
	all []header.Map
}

func (s *seen) add(h header.Map) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, h)
}

func (s *seen) list() []header.Map {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// start registers a function as "main" and starts an instance of it on a node.
func start[In, Out any](
	e *enginetest.Engine, reg *runtime.Registry, fn func(*octx, In) (Out, error), in In, opts ...client.StartOption,
) (*runtime.Runtime, client.Handle[Out]) {
	e.T.Helper()
	enginetest.Orchestration(e.T, reg, "main", fn)
	rt := e.Start(reg)
	h, err := client.StartNamed[Out](e.T.Context(), e.Client(client.Options{Propagators: e.Options.Propagators}), "main", in, opts...)
	if err != nil {
		e.T.Fatal(err)
	}
	return rt, h
}

// wait returns the output of an instance.
func wait[Out any](e *enginetest.Engine, h client.Handle[Out]) Out {
	e.T.Helper()
	return enginetest.Output[Out](e, h.Key())
}

var errFirst = errors.New("the first attempt fails")
