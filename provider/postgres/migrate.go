package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Migrations only add, so that an older release that is still running continues to work. Each row of the table names
// the oldest level of code that may run on it.
//
// An index on a table that may be large is built by a CREATE INDEX CONCURRENTLY of its own that begins a line, without
// IF NOT EXISTS. The other statements of such a migration may run again after a crash: they say IF NOT EXISTS.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

const (
	// codeLevel is the newest migration that this release knows.
	codeLevel = 7
	// oldestLevel is the oldest level of code that can run on the migrated schema.
	oldestLevel = 1
)

const (
	sqlHasSchema    = `SELECT count(*) > 0 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migration'`
	sqlCreateSchema = `CREATE TABLE IF NOT EXISTS perdure.migration (version bigint NOT NULL PRIMARY KEY,
		name text COLLATE "C" NOT NULL, oldest bigint NOT NULL, applied_at bigint NOT NULL)`
	sqlSchema       = `SELECT version FROM perdure.migration ORDER BY version`
	sqlSchemaBounds = `SELECT coalesce(max(version), 0), coalesce(max(oldest), 0) FROM perdure.migration`
	sqlAddSchema    = `INSERT INTO perdure.migration (version, name, oldest, applied_at) VALUES ($1, $2, $3, ` + sqlNow + `)`
)

// sqlNow is the storage's clock at the moment, not at the beginning of the transaction.
const sqlNow = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// sqlTransactionNow is when the transaction began.
const sqlTransactionNow = `(extract(epoch FROM transaction_timestamp()) * 1000000)::bigint`

// opMigrate names the operation that creates or changes a schema.
const opMigrate = "migrate"

// migrator maintains the schema of a store.
type migrator struct{ db *database }

// known lists all steps as not applied.
func (m migrator) known() ([]provider.Migration, error) {
	list, err := relational.Migrations(migrationFiles)
	for i := range list {
		list[i].SQL = m.db.names.sql(list[i].SQL)
	}
	return list, err
}

// migrations lists all steps and whether each is applied.
func (m migrator) migrations(ctx context.Context, q querier) ([]provider.Migration, error) {
	list, err := m.known()
	if err != nil {
		return nil, err
	}
	var has bool
	if err := q.QueryRow(ctx, sqlHasSchema, m.db.opts.Schema).Scan(&has); err != nil || !has {
		return list, err
	}
	applied, err := m.appliedMigrations(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, version := range applied {
		for i := range list {
			list[i].Applied = list[i].Applied || int64(list[i].Version) == version
		}
	}
	return list, nil
}

func (m migrator) appliedMigrations(ctx context.Context, q querier) ([]int64, error) {
	rows, err := q.Query(ctx, m.db.names.sql(sqlSchema))
	var applied []int64
	if err == nil {
		applied, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	switch sqlState(err) {
	case stateNoColumn:
		return nil, fmt.Errorf("schema %q: %w: it has another program's table \"migration\"", m.db.opts.Schema, provider.ErrNotStore)
	case stateForbidden:
		return nil, fmt.Errorf("schema %q: the role may not use it: %w; run the statements of Grants as the owner", m.db.opts.Schema, err)
	}
	return applied, err
}

// prepareSchema brings the schema up to date, or checks that it is.
func (m migrator) prepareSchema(ctx context.Context) error {
	missing, err := m.checkSchema(ctx)
	if err != nil || missing == 0 {
		return err
	}
	return m.migrate(ctx)
}

// checkSchema counts the missing migrations. It refuses a schema that this release cannot use.
func (m migrator) checkSchema(ctx context.Context) (missing int, err error) {
	ctx, cancel := m.db.bounded(ctx)
	defer cancel()
	list, err := m.migrations(ctx, m.db.pool)
	if err != nil {
		return 0, failed("open", err, provider.OutcomeNothing)
	}
	for _, step := range list {
		if !step.Applied {
			missing++
		}
	}
	if missing == len(list) && m.db.opts.NoMigrate {
		return 0, fmt.Errorf("schema %q: %w: it has no tables; run `perdure migrate up` with a role that may create them",
			m.db.opts.Schema, provider.ErrNotStore)
	}
	if missing < len(list) {
		if err := m.checkLevel(ctx); err != nil {
			return 0, err
		}
	}
	if missing > 0 && m.db.opts.NoMigrate {
		return 0, fmt.Errorf("schema %q: %w: %d migrations are missing; run `perdure migrate up` with a role that may create tables",
			m.db.opts.Schema, provider.ErrNotStore, missing)
	}
	return missing, nil
}

// checkLevel refuses a schema of a newer release that does not admit this one.
func (m migrator) checkLevel(ctx context.Context) error {
	var version, oldest int64
	if err := m.db.pool.QueryRow(ctx, m.db.names.sql(sqlSchemaBounds)).Scan(&version, &oldest); err != nil {
		return failed("open", err, provider.OutcomeNothing)
	}
	if oldest > codeLevel {
		return fmt.Errorf("%w: schema %q has version %d, which needs code of level %d or newer, and this release has level %d; upgrade it",
			provider.ErrNewerSchema, m.db.opts.Schema, version, oldest, codeLevel)
	}
	return nil
}

// Migrations lists the migrations of this release and whether the database at url has each. It changes nothing. An
// empty url stands for a database without a schema.
func Migrations(ctx context.Context, url string, o Options) ([]provider.Migration, error) {
	o = o.withDefaults()
	if err := checkSchemaName(o.Schema); err != nil {
		return nil, err
	}
	m := migrator{db: &database{opts: o, names: newNames(o.Schema)}}
	if url == "" {
		return m.known()
	}
	pool, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", badURL(url, err))
	}
	config := pool.ConnConfig
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var list []provider.Migration
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		list, err = m.migrations(ctx, conn)
		err = errors.Join(err, conn.Close(ctx))
	}
	if err != nil {
		return nil, notOpened(config, failed("open", err, provider.OutcomeNothing))
	}
	return list, nil
}

// list lists all steps and whether each is applied.
func (m migrator) list(ctx context.Context) ([]provider.Migration, error) {
	if err := m.db.door.Enter(ctx); err != nil {
		return nil, err
	}
	defer m.db.door.Leave()
	ctx, cancel := m.db.bounded(ctx)
	defer cancel()
	list, err := m.migrations(ctx, m.db.pool)
	return list, failed("migrations", err, provider.OutcomeNothing)
}

// apply applies what is missing.
func (m migrator) apply(ctx context.Context) error {
	if err := m.db.door.Enter(ctx); err != nil {
		return err
	}
	defer m.db.door.Leave()
	return m.migrate(ctx)
}

// Grants returns the statements that give role the rights to run a store whose tables another role created: to read and
// change rows, and to create nothing. The owner runs them after each migration. With them a store opens with
// [Options].NoMigrate, or without it while no migration is missing.
func Grants(schema, role string) []string {
	if schema == "" {
		schema = defaultSchema
	}
	in, to := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
	return []string{
		"GRANT USAGE ON SCHEMA " + in + " TO " + to,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + in + " TO " + to,
	}
}
