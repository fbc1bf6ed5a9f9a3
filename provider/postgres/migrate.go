package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
)

// Migrations only add, so that an older release that is still running continues to work. Only an index may go, once
// another one serves all its statements. Each row of the table names the oldest level of code that may run on it.
//
// An index on a table that may be large is built by a CREATE INDEX CONCURRENTLY of its own that begins a line, without
// IF NOT EXISTS. A DROP INDEX CONCURRENTLY, which names the schema and begins a line, runs after the builds. The other
// statements of such a migration may run again after a crash: they say IF NOT EXISTS.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

const (
	// codeLevel is the newest migration that this release knows.
	codeLevel = 15
	// oldestLevel is the oldest level of code that can run on the migrated schema.
	oldestLevel = 1
)

// opMigrate names the operation that creates or changes a schema.
const opMigrate = "migrate"

// prepareSchema brings the schema up to date, or checks that it is.
func (m migrator) prepareSchema(ctx context.Context) error {
	missing, err := m.checkSchema(ctx)
	if err != nil || missing == 0 {
		return err
	}
	return m.migrate(ctx)
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
