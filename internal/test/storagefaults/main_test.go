package storagefaults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type octx = orchestration.Context

// steps is the number of activities that an order calls.
const steps = 5

// orders registers an orchestration with activities, a timer, a child and an event. It returns its input plus the steps
// plus the value of the event.
func orders(tb testing.TB) *runtime.Registry {
	tb.Helper()
	reg := runtime.NewRegistry()
	enginetest.Activity(tb, reg, "add", func(_ context.Context, n int) (int, error) { return n + 1, nil })
	enginetest.Orchestration(tb, reg, "child", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "add", n)
	})
	enginetest.Orchestration(tb, reg, "order", func(ctx *octx, n int) (int, error) {
		for range steps {
			var err error
			if n, err = orchestration.CallActivityNamed[int](ctx, "add", n); err != nil {
				return 0, err
			}
			if err := ctx.Sleep(time.Millisecond); err != nil {
				return 0, err
			}
		}
		n, err := orchestration.CallOrchestrationNamed[int](ctx, "child", n)
		if err != nil {
			return 0, err
		}
		more, err := orchestration.Events[int](ctx, "more").Receive(ctx)
		return n + more, err
	})
	return reg
}

// order starts an order and sends its event.
func order(e *enginetest.Engine, i int) provider.UUID {
	e.T.Helper()
	key := e.Create(fmt.Sprint("order-", i), "order", i)
	e.Raise(key, "more", 100)
	return key
}

// checkOrders waits for the orders and checks each outcome, and that each event is stored once.
func checkOrders(e *enginetest.Engine, keys []provider.UUID) {
	e.T.Helper()
	for i, key := range keys {
		if got, want := enginetest.Output[int](e, key), i+steps+1+100; got != want {
			e.T.Errorf("order %d returned %d, want %d", i, got, want)
		}
		kinds := map[history.Kind]int{}
		for _, event := range e.History(key, 1) {
			kinds[event.Body.Kind()]++
		}
		for kind, want := range map[history.Kind]int{
			history.KindExecutionStarted: 1, history.KindActivityScheduled: steps, history.KindActivityCompleted: steps,
			history.KindTimerFired: steps, history.KindChildCompleted: 1, history.KindEventReceived: 1, history.KindExecutionCompleted: 1,
		} {
			if kinds[kind] != want {
				e.T.Errorf("order %d has %d events of kind %v, want %d", i, kinds[kind], kind, want)
			}
		}
		if tasks := e.Tasks(key); len(tasks) > 0 {
			e.T.Errorf("order %d left tasks %+v", i, tasks)
		}
	}
}

// engineOn opens a file for an engine whose logs are discarded, because the tests provoke errors.
func engineOn(tb testing.TB, path string) *enginetest.Engine {
	tb.Helper()
	store, err := sqlite.OpenWith(path, sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	return enginetest.On(tb, store, runtime.Options{Lease: 5 * time.Second})
}

func newFile(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "store.db")
}

// alter changes the file without the engine, as a fault or a person would.
func alter(tb testing.TB, path, statement string, args ...any) {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		tb.Fatal(err)
	}
	res, err := db.ExecContext(tb.Context(), statement, args...)
	if err := errors.Join(err, db.Close()); err != nil {
		tb.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		tb.Fatalf("%s: changed %d rows, %v: want 1", statement, n, err)
	}
}

// value reads one column of one row.
func value[T any](tb testing.TB, path, query string, args ...any) (v T) {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		tb.Fatal(err)
	}
	err = db.QueryRowContext(tb.Context(), query, args...).Scan(&v)
	if err := errors.Join(err, db.Close()); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return v
}
