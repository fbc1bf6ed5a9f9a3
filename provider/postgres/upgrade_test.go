package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// oldStore makes a store as the release left it that knew only the first migration.
func oldStore(t *testing.T) (url string, o Options) {
	t.Helper()
	url = postgrestest.URL(t)
	o = Options{Schema: postgrestest.Schema(t, url), Logger: silent}
	p := migrator{&database{opts: o, names: newNames(o.Schema)}}
	list, err := p.known()
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, url)
	for _, sql := range []string{
		`CREATE SCHEMA IF NOT EXISTS ` + pgx.Identifier{o.Schema}.Sanitize(), p.db.names.sql(sqlCreateSchema), list[0].SQL,
		p.db.names.sql(`INSERT INTO perdure.migration VALUES (1, 'core', 1, 1)`),
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return url, o
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(withoutCancel(t)) })
	return conn
}

// longRead reads the tasks in a transaction that stays open, as pg_dump does.
func longRead(t *testing.T, url, schema string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, url+"&application_name=nightly-dump").Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), newNames(schema).sql(`SELECT count(*) FROM perdure.task`)); err != nil {
		t.Fatal(err)
	}
	return tx
}

// waits counts the lines of a log about a waiting migration, and keeps the last one.
type waits struct {
	slog.Handler

	mu   sync.Mutex
	n    int
	last string
}

func (w *waits) Enabled(context.Context, slog.Level) bool { return true }

func (w *waits) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(r.Message, "migration is blocked") {
		w.n++
		r.Attrs(func(a slog.Attr) bool {
			w.last += " " + a.String()
			return true
		})
	}
	return nil
}

func (w *waits) logged() (int, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n, w.last
}

// A long read of the tasks runs while a store is migrated. Running nodes do not wait behind the migration for long, and
// it continues when the read has finished.
func TestHazard41_MigrationBesideALongReader(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url, o := oldStore(t)
	tx := longRead(t, url, o.Schema)
	log := &waits{Handler: slog.DiscardHandler}
	o.Logger, o.Timeout = slog.New(log), 3*time.Second
	opened := make(chan error, 1)
	go func() {
		p, err := OpenWith(t.Context(), url+"&pool_max_conns=4", o)
		if err == nil {
			err = p.Close()
		}
		opened <- err
	}()
	worker := connect(t, url+"&lock_timeout=5s")
	eventually(t, "the migration waits twice", func() bool {
		if _, err := worker.Exec(t.Context(), newNames(o.Schema).sql(`SELECT count(*) FROM perdure.task`)); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-opened:
			t.Fatalf("the store was opened: %v", err)
		default:
		}
		n, _ := log.logged()
		return n > 1
	})
	want := fmt.Sprintf(`process %d (application_name "nightly-dump", query began `, tx.Conn().PgConn().PID())
	if _, last := log.logged(); !strings.Contains(last, want) {
		t.Errorf("the log says %s, want %s", last, want)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	checkSchema(t, url, o.Schema)
}

// checkSchema expects all migrations to be applied, and all indexes to be valid.
func checkSchema(t *testing.T, url, schema string) {
	t.Helper()
	p := opened(t, url, Options{Schema: schema, NoMigrate: true})
	if n := number(t, p, `SELECT count(*) FROM perdure.migration`); n != int64(knownMigrations(t)) {
		t.Errorf("%d migrations are applied, want %d", n, knownMigrations(t))
	}
	const indexes = `SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = to_regnamespace($1)::oid
		AND c.relname IN ('task_fair', 'task_session', 'task_held', 'session_owner') AND i.indisvalid`
	if n := number(t, p, indexes, pgx.Identifier{schema}.Sanitize()); n != 4 {
		t.Errorf("%d indexes are there and valid, want 4", n)
	}
}

// Opening a store with a deadline returns an error that names what blocks the migration.
func TestMigrationNamesItsBlocker(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url, o := oldStore(t)
	open := func(wants ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		_, err := OpenWith(ctx, url, o)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("opened: %v", err)
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: want %s", err, want)
			}
		}
	}
	tx := longRead(t, url, o.Schema)
	open("migration 2", fmt.Sprintf("process %d", tx.Conn().PgConn().PID()), `"nightly-dump"`, "holds task", "pg_terminate_backend")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := connect(t, url+"&application_name=other-node")
	if _, err := other.Exec(t.Context(), sqlMigrating, migrationKey(o.Schema)); err != nil {
		t.Fatal(err)
	}
	open("another process migrates the schema", fmt.Sprintf("process %d", other.PgConn().PID()), `"other-node"`)
}

// An index whose build was cut off is built again. Several nodes that migrate a store in use do not block each other.
func TestMigrationsThatWereCutOff(t *testing.T) {
	longtest.Skip(t)
	url, o := oldStore(t)
	conn := connect(t, url)
	for _, sql := range []string{ // as after a crash in the second migration
		`ALTER TABLE perdure.task ADD COLUMN start_by_at bigint NOT NULL DEFAULT 0`,
		`ALTER TABLE perdure.task ADD COLUMN rank_at bigint NOT NULL DEFAULT 0`,
		`CREATE INDEX task_fair ON perdure.task (fairness_key, kind, fetch_at) WHERE rank_at > 0`,
		`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'perdure.task_fair'::regclass`,
	} {
		if _, err := conn.Exec(t.Context(), newNames(o.Schema).sql(sql)); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			p, err := OpenWith(t.Context(), url+"&pool_max_conns=1", o)
			if err != nil {
				t.Error(err)
				return
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	checkSchema(t, url, o.Schema)
}

// A migration without Options.Pooler was cut off between the build of an index and its record. A process with
// Options.Pooler opens the store.
func TestPoolerFinishesAMigrationThatWasCutOff(t *testing.T) {
	longtest.Skip(t)
	url, o := oldStore(t)
	conn := connect(t, url)
	for _, sql := range []string{
		`ALTER TABLE perdure.task ADD COLUMN start_by_at bigint NOT NULL DEFAULT 0`,
		`ALTER TABLE perdure.task ADD COLUMN begun boolean NOT NULL DEFAULT false`,
		`ALTER TABLE perdure.task ADD COLUMN rank_at bigint NOT NULL DEFAULT 0`,
		`CREATE INDEX CONCURRENTLY task_fair ON perdure.task (fairness_key, kind, fetch_at) WHERE rank_at > 0`,
	} {
		if _, err := conn.Exec(t.Context(), newNames(o.Schema).sql(sql)); err != nil {
			t.Fatal(err)
		}
	}
	o.Pooler, o.ListenURL = true, url
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p, err := OpenWith(ctx, url, o)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	checkSchema(t, url, o.Schema)
}
