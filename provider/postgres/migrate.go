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

// Migrations only add, so that an older release that is still running goes on working; each row
// of the table names the oldest level of code that may run on it.
//
// An index on a table that may be large is built by a CREATE INDEX CONCURRENTLY of its own that begins a line, without IF NOT EXISTS. The
// other statements of such a migration may run again after a crash: they say IF NOT EXISTS.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

const (
	// codeLevel is the newest migration that this release knows.
	codeLevel = 3
	// oldestLevel is the oldest level of code that can run on what they made.
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

// sqlNow is the storage's clock: of the moment, not of the transaction's beginning.
const sqlNow = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// sqlTransactionNow is when the transaction began.
const sqlTransactionNow = `(extract(epoch FROM transaction_timestamp()) * 1000000)::bigint`

// opMigrate names what fails when a schema cannot be made or changed.
const opMigrate = "migrate"

// querier is a connection, a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// known lists all steps, of which none is applied.
func (p *Provider) known() ([]provider.Migration, error) {
	list, err := relational.Migrations(migrationFiles)
	for i := range list {
		list[i].SQL = p.names.sql(list[i].SQL)
	}
	return list, err
}

// migrations lists all steps and whether each is applied.
func (p *Provider) migrations(ctx context.Context, q querier) ([]provider.Migration, error) {
	list, err := p.known()
	if err != nil {
		return nil, err
	}
	var has bool
	if err := q.QueryRow(ctx, sqlHasSchema, p.opts.Schema).Scan(&has); err != nil || !has {
		return list, err
	}
	applied, err := p.appliedMigrations(ctx, q)
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

func (p *Provider) appliedMigrations(ctx context.Context, q querier) ([]int64, error) {
	rows, err := q.Query(ctx, p.names.sql(sqlSchema))
	var applied []int64
	if err == nil {
		applied, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	switch sqlState(err) {
	case stateNoColumn:
		return nil, fmt.Errorf("schema %q: %w: it has another program's table \"migration\"", p.opts.Schema, provider.ErrNotStore)
	case stateForbidden:
		return nil, fmt.Errorf("schema %q: the role may not use it: run what Grants answers as the owner: %w", p.opts.Schema, err)
	}
	return applied, err
}

// prepareSchema brings the schema up to date, or checks that it is.
func (p *Provider) prepareSchema(ctx context.Context) error {
	missing, err := p.checkSchema(ctx)
	if err != nil || missing == 0 {
		return err
	}
	return p.migrate(ctx)
}

// checkSchema counts the missing migrations. It refuses a schema that this release cannot use.
func (p *Provider) checkSchema(ctx context.Context) (missing int, err error) {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	list, err := p.migrations(ctx, p.pool)
	if err != nil {
		return 0, failed("open", err, provider.OutcomeNothing)
	}
	for _, step := range list {
		if !step.Applied {
			missing++
		}
	}
	if missing == len(list) && p.opts.NoMigrate {
		return 0, fmt.Errorf("schema %q: %w: it has no tables; run `perdure migrate up` with a role that may create them",
			p.opts.Schema, provider.ErrNotStore)
	}
	if missing < len(list) {
		if err := p.checkLevel(ctx); err != nil {
			return 0, err
		}
	}
	if missing > 0 && p.opts.NoMigrate {
		return 0, fmt.Errorf("schema %q: %w: %d migrations are missing; run `perdure migrate up` with a role that may create tables",
			p.opts.Schema, provider.ErrNotStore, missing)
	}
	return missing, nil
}

// checkLevel refuses a schema of a newer release that does not admit this one.
func (p *Provider) checkLevel(ctx context.Context) error {
	var version, oldest int64
	if err := p.pool.QueryRow(ctx, p.names.sql(sqlSchemaBounds)).Scan(&version, &oldest); err != nil {
		return failed("open", err, provider.OutcomeNothing)
	}
	if oldest > codeLevel {
		return fmt.Errorf("%w: schema %q has version %d, which needs code of level %d or newer, and this release has level %d; upgrade it",
			provider.ErrNewerSchema, p.opts.Schema, version, oldest, codeLevel)
	}
	return nil
}

// Migrations lists the migrations of this release and which of them the schema has at the database that url names, without
// changing it. An empty url stands for a database that has none.
func Migrations(ctx context.Context, url string, o Options) ([]provider.Migration, error) {
	o = o.withDefaults()
	if err := checkSchemaName(o.Schema); err != nil {
		return nil, err
	}
	p := &Provider{opts: o, names: newNames(o.Schema)}
	if url == "" {
		return p.known()
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
		list, err = p.migrations(ctx, conn)
		err = errors.Join(err, conn.Close(ctx))
	}
	if err != nil {
		return nil, notOpened(config, failed("open", err, provider.OutcomeNothing))
	}
	return list, nil
}

// Migrations implements [provider.Migrator].
func (p *Provider) Migrations(ctx context.Context) (list []provider.Migration, err error) {
	if err := p.door.Enter(ctx); err != nil {
		return nil, err
	}
	defer p.door.Leave()
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	list, err = p.migrations(ctx, p.pool)
	return list, failed("migrations", err, provider.OutcomeNothing)
}

// Migrate implements [provider.Migrator].
func (p *Provider) Migrate(ctx context.Context) error {
	if err := p.door.Enter(ctx); err != nil {
		return err
	}
	defer p.door.Leave()
	return p.migrate(ctx)
}
