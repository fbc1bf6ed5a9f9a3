package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

const (
	// migrateLock is how long a migration waits for the lock of a table. All other statements on the table wait behind
	// it meanwhile.
	migrateLock = time.Second
	// How long a migration rests after such a wait: at first, and at most.
	migrateRest     = time.Second
	migrateLongRest = 10 * time.Second
	// migratePoll is how often a process checks whether another one has finished its migration.
	migratePoll = 200 * time.Millisecond
)

const (
	sqlHasNamespace  = `SELECT count(*) > 0 FROM pg_catalog.pg_namespace WHERE nspname = $1`
	sqlMigrating     = `SELECT pg_try_advisory_lock($1)`
	sqlMigratingHere = `SELECT pg_try_advisory_xact_lock($1)`
	sqlDirect        = `SELECT pg_backend_pid() = $1::bigint`
	sqlNoLimits      = `SET lock_timeout = 0; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0`
	sqlMigrateLimits = `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', '0', true),
	set_config('idle_in_transaction_session_timeout', '0', true)`
	sqlIndexValid = `SELECT i.indisvalid FROM pg_catalog.pg_index i WHERE i.indexrelid = to_regclass($1)`
	// The oldest transaction that holds a lock on a table of the schema, or the session that holds the lock of a
	// migration.
	sqlBlocker = `SELECT a.pid, coalesce(a.application_name, ''), a.query_start, coalesce(c.relname, '')
	FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
	WHERE l.granted AND a.datname = current_database() AND l.pid <> $1 AND (
		l.locktype = 'relation' AND c.relkind = 'r' AND c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = $2)
		OR l.locktype = 'advisory' AND l.classid::bigint << 32 | l.objid::bigint = $3)
	ORDER BY l.locktype, a.xact_start LIMIT 1`
)

// errMigrating is returned while another process migrates the schema.
var errMigrating = errors.New("another process migrates the schema")

// migrate applies what is missing. It has no deadline of its own, because the build of an index may take long, and so
// may readers of a table. It never waits long for the lock of a table, because running nodes wait behind it.
func (m migrator) migrate(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.db.hard, cancel)() //nolint:contextcheck // Close ends it, too
	run := &migration{migrator: m, key: migrationKey(m.db.opts.Schema)}
	err := run.run(ctx)
	return failed(opMigrate, err, outcomeOf(err))
}

// migration applies what is missing, on a connection of its own.
type migration struct {
	migrator

	conn   *pgx.Conn
	key    int64 // of the lock
	fresh  bool  // the tables are created now
	pooled bool  // the connection leads to a pooler, according to Options.Pooler or the server
}

func (m *migration) run(ctx context.Context) error {
	if err := m.connect(ctx); err != nil {
		return err
	}
	defer func() { _ = m.conn.Close(context.WithoutCancel(ctx)) }() // that releases the lock
	if err := m.findPooler(ctx); err != nil {
		return err
	}
	if err := m.patiently(ctx, func() error { return m.lock(ctx) }); err != nil {
		return err
	}
	if err := m.patiently(ctx, func() error { return m.within(ctx, m.begin) }); err != nil {
		return err
	}
	list, err := m.migrations(ctx, m.conn)
	if err != nil {
		return err
	}
	m.fresh = !slices.ContainsFunc(list, func(s provider.Migration) bool { return s.Applied })
	for _, step := range list {
		if step.Applied {
			continue
		}
		if err := m.patiently(ctx, func() error { return m.apply(ctx, &step) }); err != nil {
			return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, err)
		}
	}
	return nil
}

// migrationKey returns the key of the lock that lets one process at a time migrate a schema.
func migrationKey(schema string) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte("perdure migrate " + schema)) // never fails
	return int64(hash.Sum64())
}

// connect takes a connection out of the pool.
func (m *migration) connect(ctx context.Context) error {
	ctx, cancel := m.db.bounded(ctx)
	defer cancel()
	conn, err := m.db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	m.conn = conn.Hijack()
	return nil
}

// patiently runs a part of the migration until it got its locks, or ctx ends. Then the error names who holds them.
func (m *migration) patiently(ctx context.Context, part func() error) error {
	logged := time.Now()
	var blocked error // why the last attempt that ended before ctx did was in vain
	for rest := migrateRest; ; {
		err := part()
		other := errors.Is(err, errMigrating)
		busy := other || sqlState(err) == stateLockTimeout || sqlState(err) == stateDeadlock
		if !busy && (err == nil || ctx.Err() == nil) {
			return err
		}
		if busy {
			blocked = err
		}
		pause := migratePoll
		if !other {
			pause, rest = rest, min(2*rest, migrateLongRest)
		}
		if ctx.Err() == nil && (!other || time.Since(logged) > migrateLongRest) {
			logged = time.Now()
			m.db.opts.Logger.Warn("perdure postgres: the migration is blocked, retrying", "schema", m.db.opts.Schema, "after", pause,
				"error", err, "holder", m.holder(ctx))
		}
		if !sleep(ctx, pause) {
			return m.inVain(ctx, err, blocked)
		}
	}
}

// inVain returns the error of a migration that ctx ended: err of its last attempt, which ctx may have cut off, and blocked
// of the last one that others held up, if any.
func (m *migration) inVain(ctx context.Context, err, blocked error) error {
	text := err.Error()
	if errors.Is(blocked, errMigrating) {
		text = blocked.Error() + ": " + ctx.Err().Error()
	} else if blocked != nil {
		text = "waiting for locks: " + ctx.Err().Error()
	}
	if holder := m.holder(ctx); holder != "" {
		text += "; " + holder
	}
	return &waitError{text, ctx.Err()}
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// waitError describes what a migration waited for in vain.
type waitError struct {
	text  string
	cause error // why the wait ended
}

// Error implements error.
func (e *waitError) Error() string { return e.text }

// Unwrap returns the cause.
func (e *waitError) Unwrap() error { return e.cause }

// holder describes what blocks the migration and how to continue, "" if nothing is found.
func (m *migration) holder(ctx context.Context) string {
	ctx, cancel := m.db.bounded(context.WithoutCancel(ctx)) // the migration's context may be done
	defer cancel()
	var pid int32
	var application, table string
	var began *time.Time
	row := m.db.pool.QueryRow(ctx, sqlBlocker, int32(m.conn.PgConn().PID()), m.db.opts.Schema, m.key)
	if row.Scan(&pid, &application, &began, &table) != nil {
		return ""
	}
	text := fmt.Sprintf("process %d (application_name %q", pid, application)
	if began != nil {
		text += ", query began " + began.UTC().Format(time.RFC3339)
	}
	return text + fmt.Sprintf(") holds %s: let it end, or end it with pg_terminate_backend(%d)", cmp.Or(table, "the lock of the migration"), pid)
}

// lock keeps other processes from migrating the schema. Behind a pooler the session may not be this process's own, so
// each transaction takes the lock. It never waits in the server, because the build of an index would wait for that
// statement, too.
func (m *migration) lock(ctx context.Context) error {
	if m.pooled {
		return nil
	}
	if _, err := m.conn.Exec(ctx, sqlNoLimits); err != nil {
		return err
	}
	return m.try(ctx, m.conn, sqlMigrating)
}

func (m *migration) try(ctx context.Context, q querier, lock string) error {
	var ok bool
	if err := q.QueryRow(ctx, lock, m.key).Scan(&ok); err != nil || ok {
		return err
	}
	return errMigrating
}

// within runs fn in a transaction that waits only briefly for locks. It sees what the process that had the lock before
// stored.
func (m *migration) within(ctx context.Context, fn func(context.Context, pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, m.conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlMigrateLimits, milliseconds(migrateLock)); err != nil {
			return err
		}
		if err := m.try(ctx, tx, sqlMigratingHere); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// begin creates the schema and the table of its migrations.
func (m *migration) begin(ctx context.Context, tx pgx.Tx) error {
	var exists bool
	if err := tx.QueryRow(ctx, sqlHasNamespace, m.db.opts.Schema).Scan(&exists); err != nil {
		return err
	}
	if !exists { // IF NOT EXISTS would require the right to create even then
		if _, err := tx.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{m.db.opts.Schema}.Sanitize()); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, m.db.names.sql(sqlCreateSchema))
	return err
}

// apply applies a migration and records it in one transaction, unless it builds or drops an index on a table in use.
// That happens in between, without a transaction, and the statements of the migration must be repeatable.
func (m *migration) apply(ctx context.Context, step *provider.Migration) error {
	statements, indexes := splitIndexes(step.SQL)
	if m.fresh || m.pooled {
		statements, indexes = m.unhurried(step.SQL), nil
	}
	err := m.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if done, err := m.applied(ctx, tx, step); done || err != nil {
			return err
		}
		// Several statements at once require the simple protocol.
		if _, err := tx.Conn().PgConn().Exec(ctx, statements).ReadAll(); err != nil || len(indexes) > 0 {
			return err
		}
		return m.record(ctx, tx, step)
	})
	if err != nil || len(indexes) == 0 {
		return err
	}
	for _, index := range indexes {
		change := m.build
		if strings.HasPrefix(index, "DROP") {
			change = m.drop
		}
		if err := change(ctx, index); err != nil {
			return err
		}
	}
	return m.within(ctx, func(ctx context.Context, tx pgx.Tx) error { return m.record(ctx, tx, step) })
}

// findPooler finds out whether the connection's transactions may run in different sessions. Then the session that runs
// a statement is not the one that the connection was opened to. A lock of such a session would stay with the pooler.
func (m *migration) findPooler(ctx context.Context) error {
	direct := false
	err := m.conn.QueryRow(ctx, sqlDirect, pgx.QueryExecModeExec, int64(m.conn.PgConn().PID())).Scan(&direct)
	m.pooled = m.db.opts.Pooler || !direct
	return err
}

// unhurried returns the SQL of a migration with its indexes built inside the transaction. It drops what a concurrent
// build left.
func (m *migration) unhurried(sql string) string {
	sql = concurrentDrop.ReplaceAllString(sql, "DROP INDEX IF EXISTS $1;")
	return concurrentIndex.ReplaceAllStringFunc(sql, func(create string) string {
		index := m.db.names.sql(defaultSchema + "." + concurrentIndex.FindStringSubmatch(create)[1])
		return "DROP INDEX IF EXISTS " + index + ";\n" + concurrently.ReplaceAllString(create, "INDEX")
	})
}

// applied reports whether another process was faster, which is possible behind a pooler.
func (m *migration) applied(ctx context.Context, tx pgx.Tx, step *provider.Migration) (bool, error) {
	versions, err := m.appliedMigrations(ctx, tx)
	return slices.Contains(versions, int64(step.Version)), err
}

func (m *migration) record(ctx context.Context, tx pgx.Tx, step *provider.Migration) error {
	_, err := tx.Exec(ctx, m.db.names.sql(sqlAddSchema), step.Version, step.Name, oldestLevel)
	return err
}

var (
	concurrently = regexp.MustCompile(`INDEX CONCURRENTLY`)
	// concurrentIndex matches a statement of its own that begins a line. It names its index without a schema.
	concurrentIndex = regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON [^;]*;`)
	// concurrentDrop matches a statement of its own that begins a line. It names its index with a schema.
	concurrentDrop = regexp.MustCompile(`(?m)^DROP INDEX CONCURRENTLY ([^;]*);`)
)

// splitIndexes takes the indexes that are built or dropped concurrently out of the SQL of a migration. Builds come
// first.
func splitIndexes(sql string) (statements string, indexes []string) {
	indexes = append(concurrentIndex.FindAllString(sql, -1), concurrentDrop.FindAllString(sql, -1)...)
	return concurrentDrop.ReplaceAllString(concurrentIndex.ReplaceAllString(sql, ""), ""), indexes
}

// build builds an index while others read and write its table. It first drops what an unfinished build left.
func (m *migration) build(ctx context.Context, create string) error {
	index := m.db.names.sql(defaultSchema + "." + concurrentIndex.FindStringSubmatch(create)[1])
	var valid bool
	err := m.conn.QueryRow(ctx, sqlIndexValid, index).Scan(&valid)
	switch {
	case err == nil && valid:
		return nil
	case err == nil:
		if _, err := m.conn.Exec(ctx, `DROP INDEX CONCURRENTLY IF EXISTS `+index); err != nil {
			return err
		}
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	m.db.opts.Logger.Info("perdure postgres: the migration builds an index", "index", index)
	_, err = m.conn.Exec(ctx, create)
	return err
}

// drop drops an index while others read and write its table. It may be gone after a crash.
func (m *migration) drop(ctx context.Context, sql string) error {
	_, err := m.conn.Exec(ctx, `DROP INDEX CONCURRENTLY IF EXISTS `+concurrentDrop.FindStringSubmatch(sql)[1])
	return err
}
