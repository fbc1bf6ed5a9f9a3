package routing

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

type (
	octx   = orchestration.Context
	none   = orchestration.None
	engine = enginetest.Engine
)

// everyStore runs a test on memory in virtual time with the cache on and off, and on SQLite and Postgres in real time.
func everyStore(t *testing.T, opts runtime.Options, test func(e *engine)) {
	t.Helper()
	for name, cache := range map[string]int{"cached": 0, "uncached": runtime.Off} {
		t.Run("memory/"+name, func(t *testing.T) {
			t.Parallel()
			own := opts
			own.Cache.Executions = cache
			enginetest.Bubble(t, own, test)
		})
	}
	if testing.Short() { // only in virtual time
		return
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(enginetest.SQLite(t, opts))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t)
		store, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		test(enginetest.On(t, store, opts))
	})
}

// unit returns the time span of a test: a moment where the clock is real.
func unit(e *engine) time.Duration {
	if e.Virtual {
		return time.Minute
	}
	return 200 * time.Millisecond
}

// ample is a limit that a busy machine does not reach before an attempt begins.
func ample(e *engine) time.Duration {
	if e.Virtual {
		return time.Minute
	}
	return 2 * time.Second
}

// late is how much later than due something may happen. Only the bubble's clock is exact: a busy machine is late by seconds.
func late(e *engine) time.Duration {
	if e.Virtual {
		return 2 * time.Second
	}
	return 30 * time.Second
}

// rest lets time pass.
func rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// main registers an orchestration that makes one call.
func main(e *engine, reg *runtime.Registry, name string, opts ...orchestration.ActivityOption) {
	e.T.Helper()
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, in string) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, name, in, opts...)
	})
}
