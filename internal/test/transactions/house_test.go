package transactions

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
)

func TestMain(m *testing.M) {
	if where := os.Getenv(crashing); where != "" {
		os.Exit(crash(where))
	}
	leaktest.Main(m, postgrestest.Stop, closeKept)
}

// A house is a database with a store, which an engine closes, and a table of the program.
type house struct {
	store provider.Provider
	// begin begins a transaction of the program.
	begin func(ctx context.Context) (transaction, error)
	// onComplete registers a function of the running activity with the package of the store.
	onComplete func(ctx context.Context, fn func(transaction) error) error
	// rows returns the number of rows in the ledger.
	rows func(ctx context.Context) (int, error)
}

// A transaction is a *sql.Tx or a pgx.Tx.
type transaction struct {
	tx       provider.Tx
	exec     func(sql string) error
	commit   func() error
	rollback func() error
}

const createLedger = `CREATE TABLE IF NOT EXISTS ledger (entry text NOT NULL)`

// each runs a test on both databases.
func each(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, onSQLite(t, filepath.Join(t.TempDir(), "store.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		longtest.Skip(t)
		t.Parallel()
		url := postgrestest.URL(t)
		run(t, onPostgres(t, url, postgrestest.Schema(t, url)))
	})
}

func onSQLite(tb testing.TB, path string) *house {
	tb.Helper()
	store, err := sqlite.OpenWith(path, sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	if _, err := db.ExecContext(tb.Context(), createLedger); err != nil {
		tb.Fatal(err)
	}
	wrap := func(ctx context.Context, tx *sql.Tx) transaction {
		exec := func(statement string) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		}
		return transaction{tx: sqlite.InTx(tx), exec: exec, commit: tx.Commit, rollback: tx.Rollback}
	}
	return &house{
		store: store,
		begin: func(ctx context.Context) (transaction, error) {
			tx, err := db.BeginTx(ctx, nil)
			return wrap(ctx, tx), err
		},
		onComplete: func(ctx context.Context, fn func(transaction) error) error {
			return sqlite.OnComplete(ctx, func(tx *sql.Tx) error { return fn(wrap(ctx, tx)) })
		},
		rows: func(ctx context.Context) (n int, err error) {
			err = db.QueryRowContext(ctx, `SELECT count(*) FROM ledger`).Scan(&n)
			return n, err
		},
	}
}

func onPostgres(tb testing.TB, url, schema string) *house {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), url+"&pool_max_conns=16&search_path="+schema)
	if err != nil {
		tb.Fatal(err)
	}
	store, err := postgres.NewWith(tb.Context(), pool, postgres.Options{Schema: schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	if _, err := pool.Exec(tb.Context(), createLedger); err != nil {
		tb.Fatal(err)
	}
	wrap := func(ctx context.Context, tx pgx.Tx) transaction {
		exec := func(statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		}
		commit, rollback := func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
		return transaction{tx: postgres.InTx(tx), exec: exec, commit: commit, rollback: rollback}
	}
	return &house{
		store: store,
		begin: func(ctx context.Context) (transaction, error) {
			tx, err := pool.Begin(ctx)
			return wrap(ctx, tx), err
		},
		onComplete: func(ctx context.Context, fn func(transaction) error) error {
			return postgres.OnComplete(ctx, func(tx pgx.Tx) error { return fn(wrap(ctx, tx)) })
		},
		rows: func(ctx context.Context) (n int, err error) {
			err = pool.QueryRow(ctx, `SELECT count(*) FROM ledger`).Scan(&n)
			return n, err
		},
	}
}

const enter = `INSERT INTO ledger VALUES ('entry')`

// within runs act in a transaction of the program, and commits it if act says so.
func (h *house) within(t *testing.T, act func(transaction) (commit bool)) {
	t.Helper()
	tx, err := h.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := tx.rollback
	if act(tx) {
		end = tx.commit
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// ledger checks the number of rows in the ledger.
func (h *house) ledger(t *testing.T, want int) {
	t.Helper()
	got, err := h.rows(t.Context())
	if err != nil || got != want {
		t.Errorf("the ledger has %d rows, want %d: %v", got, want, err)
	}
}

// closeKept opens and closes a store. The file of a store that closed while a connection of the program had locks on it stays open until
// the next one closes, as to close it would drop them.
func closeKept() {
	dir, err := os.MkdirTemp("", "perdure-kept-")
	if err != nil {
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	if p, err := sqlite.Open(filepath.Join(dir, "store.db")); err == nil {
		_ = p.Close()
	}
}
