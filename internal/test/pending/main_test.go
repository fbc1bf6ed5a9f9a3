package pending

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) {
	if where := os.Getenv(dying); where != "" {
		os.Exit(liveUntilKilled(where))
	}
	leaktest.Main(m, postgrestest.Stop)
}

// open opens a store by its address: the path of a file, or a schema of a Postgres server.
func open(ctx context.Context, address, schema string) (provider.Provider, error) {
	silent := slog.New(slog.DiscardHandler)
	if schema != "" {
		return postgres.OpenWith(ctx, address, postgres.Options{Schema: schema, Logger: silent})
	}
	return sqlite.OpenWith(address, sqlite.Options{Synchronous: sqlite.Off, Logger: silent}) //nolint:contextcheck // opening takes none
}

// each runs a test on memory in virtual time, on SQLite and on Postgres.
func each(t *testing.T, opts runtime.Options, test func(e *enginetest.Engine)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		enginetest.Bubble(t, opts, test)
	})
	onDisk(t, opts, func(e *enginetest.Engine, _, _ string) { test(e) })
}

// onDisk runs a test on SQLite and on Postgres with the address of the store.
func onDisk(t *testing.T, opts runtime.Options, test func(e *enginetest.Engine, address, schema string)) {
	t.Helper()
	on := func(t *testing.T, address, schema string) {
		t.Helper()
		store, err := open(t.Context(), address, schema)
		if err != nil {
			t.Fatal(err)
		}
		test(enginetest.On(t, store, opts), address, schema)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		on(t, filepath.Join(t.TempDir(), "store.db"), "")
	})
	t.Run("postgres", func(t *testing.T) {
		longtest.Skip(t)
		t.Parallel()
		url := postgrestest.URL(t)
		on(t, url, postgrestest.Schema(t, url))
	})
}

// approval is an activity that ends by its token, which it sends to the test.
type approval struct {
	tokens chan string
	err    error
}

func newApproval(err error) *approval { return &approval{make(chan string, 2000), err} }

func (a *approval) work(ctx context.Context, _ int) (string, error) {
	a.tokens <- activity.Token(ctx)
	return "", a.err
}

// registry makes a registry with the activity "approve" and "main", which calls it once.
func registry(t testing.TB, work func(context.Context, int) (string, error), opts ...orchestration.ActivityOption) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	enginetest.Activity(t, reg, "approve", work)
	enginetest.Orchestration(t, reg, "main", func(ctx *orchestration.Context, n int) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "approve", n, opts...)
	})
	if err := runtime.AddError(reg, "eof", io.EOF); err != nil {
		t.Fatal(err)
	}
	return reg
}

// caller returns a client without a node, as another process would use it.
func caller(e *enginetest.Engine, reg *runtime.Registry) *client.Client {
	return e.Client(client.Options{Errors: reg.Errors()})
}

// modes are the two ways to be pending.
var modes = map[string]error{"held": activity.ErrPending, "parked": activity.ErrParked}

// eachMode runs a test on every store for held and for parked activities.
func eachMode(t *testing.T, opts runtime.Options, test func(e *enginetest.Engine, mode error)) {
	t.Helper()
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, opts, func(e *enginetest.Engine) { test(e, mode) })
		})
	}
}

// refused fails the test if an error is not the wanted one.
func refused(e *enginetest.Engine, what string, got, want error) {
	e.T.Helper()
	if !errors.Is(got, want) {
		e.T.Errorf("%s returned %v, want %v", what, got, want)
	}
}

// settled waits until the store shows the only task as parked, if mode is to park.
func settled(e *enginetest.Engine, key provider.UUID, mode error) {
	e.T.Helper()
	if !errors.Is(mode, activity.ErrParked) {
		return
	}
	e.Until("it is parked", func() bool {
		tasks := e.Tasks(key)
		return len(tasks) == 1 && tasks[0].State == provider.TaskParked
	})
}

const second = time.Second
