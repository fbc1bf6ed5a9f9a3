package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlHasSchema    = `SELECT count(*) > 0 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migration'`
	sqlCreateSchema = `CREATE TABLE IF NOT EXISTS perdure.migration (version bigint NOT NULL PRIMARY KEY,
		name text COLLATE "C" NOT NULL, oldest bigint NOT NULL, applied_at bigint NOT NULL)`
	sqlSchema       = `SELECT version FROM perdure.migration ORDER BY version`
	sqlSchemaBounds = `SELECT coalesce(max(version), 0), coalesce(max(oldest), 0) FROM perdure.migration`
	sqlAddSchema    = `INSERT INTO perdure.migration (version, name, oldest, applied_at) VALUES ($1, $2, $3, ` + sqlNow + `)`
)

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
