package features

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

type (
	octx = orchestration.Context
	none = orchestration.None
)

// rig is a store with the registry of its nodes.
type rig struct {
	*enginetest.Engine

	reg *runtime.Registry
}

// quick returns options that keep a shutdown short in real time.
func quick() runtime.Options {
	return runtime.Options{
		Shutdown: runtime.ShutdownOptions{DrainTimeout: 500 * time.Millisecond, ForceTimeout: 100 * time.Millisecond, WatchdogTimeout: runtime.Off},
		Logger:   slog.New(slog.DiscardHandler),
	}
}

// everyStore runs a test on memory in virtual time, with the cache on and off, and on SQLite and Postgres in real time.
func everyStore(t *testing.T, test func(r *rig)) {
	t.Helper()
	run := func(e *enginetest.Engine) { test(&rig{e, runtime.NewRegistry()}) }
	for cache, size := range map[string]int{"cached": 0, "uncached": runtime.Off} {
		t.Run("memory/"+cache, func(t *testing.T) {
			t.Parallel()
			opts := quick()
			opts.Cache.Executions = size
			enginetest.Bubble(t, opts, run)
		})
	}
	if testing.Short() { // only in virtual time
		return
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(enginetest.SQLite(t, quick()))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t)
		p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		run(enginetest.On(t, p, quick()))
	})
}

// main registers an orchestration and starts an instance of it.
func (r *rig) main(fn func(*octx, none) (string, error)) provider.UUID {
	r.T.Helper()
	enginetest.Orchestration(r.T, r.reg, "main", fn)
	return r.Create("main", "main", none{})
}

// activity registers an activity.
func (r *rig) activity(name string, fn func(context.Context, string) (string, error)) {
	r.T.Helper()
	enginetest.Activity(r.T, r.reg, name, fn)
}

// leaky starts a node that the test itself shuts down, because it leaks code.
func (r *rig) leaky() *runtime.Runtime {
	r.T.Helper()
	rt, err := runtime.Start(r.T.Context(), r.Store, r.reg, r.Options)
	if err != nil {
		r.T.Fatal(err)
	}
	return rt
}

// pause lets time pass. It waits in real time only where the clock is real.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func call(ctx *octx, name, in string, opts ...orchestration.ActivityOption) (string, error) {
	return orchestration.CallActivityNamed[string](ctx, name, in, opts...)
}

func begin(ctx *octx, name, in string, opts ...orchestration.ActivityOption) orchestration.Future[string] {
	return orchestration.StartActivityNamed[string](ctx, name, in, opts...)
}

// receive waits for an event without a value.
func receive(ctx *octx, name string) error {
	_, err := orchestration.Events[none](ctx, name).Receive(ctx)
	return err
}
