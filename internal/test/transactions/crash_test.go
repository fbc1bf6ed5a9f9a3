package transactions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// crashing is the environment variable that makes a process die inside of an activity's function. Its value names the
// store.
const crashing = "PERDURE_TEST_CRASH"

const died = 9

// Enter is an activity whose effect is a row of the ledger.
func Enter(ctx context.Context, _ int) (int, error) {
	return 1, errors.Join(
		sqlite.OnComplete(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, enter)
			return err
		}),
		sqlite.OnComplete(ctx, func(*sql.Tx) error { return die() }),
	)
}

// EnterPostgres is the same on Postgres.
func EnterPostgres(ctx context.Context, _ int) (int, error) {
	return 1, errors.Join(
		postgres.OnComplete(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, enter)
			return err
		}),
		postgres.OnComplete(ctx, func(pgx.Tx) error { return die() }),
	)
}

// die kills the process of the test without a call to the store.
func die() error {
	if os.Getenv(crashing) != "" {
		os.Exit(died)
	}
	return nil
}

// Ledger calls the activity of the given kind of store.
func Ledger(ctx *orchestration.Context, kind string) (int, error) {
	if kind == "postgres" {
		return orchestration.CallActivity(ctx, EnterPostgres, 0)
	}
	return orchestration.CallActivity(ctx, Enter, 0)
}

func ledgers() (*runtime.Registry, error) {
	reg := runtime.NewRegistry()
	return reg, errors.Join(
		runtime.AddOrchestration(reg, Ledger), runtime.AddActivity(reg, Enter), runtime.AddActivity(reg, EnterPostgres),
	)
}

// crash is the main function of the process that dies: it runs a node until the activity's function kills it.
func crash(where string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	kind, place, _ := strings.Cut(where, " ")
	var store provider.Provider
	var err error
	if kind == "postgres" {
		url, schema, _ := strings.Cut(place, " ")
		store, err = postgres.OpenWith(ctx, url+"&search_path="+schema, postgres.Options{Schema: schema})
	} else {
		store, err = sqlite.Open(place)
	}
	if err != nil {
		return fail(err)
	}
	reg, err := ledgers()
	if err != nil {
		return fail(err)
	}
	if _, err := runtime.Start(ctx, store, reg, runtime.Options{Lease: time.Second}); err != nil {
		return fail(err)
	}
	<-ctx.Done()
	return fail(ctx.Err())
}

// A process that dies between the effect and the commit leaves nothing of the effect. The next process makes it once.
func TestCrashInsideTheTransaction(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		crashes(t, onSQLite(t, path), "sqlite", "sqlite "+path)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t)
		schema := postgrestest.Schema(t, url)
		crashes(t, onPostgres(t, url, schema), "postgres", "postgres "+url+" "+schema)
	})
}

func crashes(t *testing.T, h *house, kind, where string) {
	t.Helper()
	c := clienttest.New(t, h.store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	handle, err := client.Start(t.Context(), c, Ledger, kind)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashing+"="+where)
	child.Stderr = os.Stderr
	exit, ok := errors.AsType[*exec.ExitError](child.Run())
	if !ok || exit.ExitCode() != died {
		t.Fatalf("the process that was to die ended with %v", exit)
	}
	h.ledger(t, 0)
	reg, err := ledgers()
	if err != nil {
		t.Fatal(err)
	}
	engineOn(t, h).Start(reg)
	if got, err := handle.Wait(t.Context()); err != nil || got != 1 {
		t.Errorf("the instance returned %d, %v", got, err)
	}
	h.ledger(t, 1)
}
