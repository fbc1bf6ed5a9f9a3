package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Migrations only add, so that an older release that is still running goes on working. Only an index may be replaced, by one
// that serves its statements under its name. Each row of perdure_schema names the oldest level of code that may run on it.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

const (
	// codeLevel is the newest migration that this release knows.
	codeLevel = 15
	// oldestLevel is the oldest level of code that can run on the migrated schema.
	oldestLevel = 1
)

const (
	sqlHasSchema    = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'perdure_schema'`
	sqlCreateSchema = `CREATE TABLE IF NOT EXISTS perdure_schema (version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL,
		oldest INTEGER NOT NULL, applied_at INTEGER NOT NULL) STRICT`
	sqlSchema       = `SELECT version FROM perdure_schema ORDER BY version`
	sqlSchemaBounds = `SELECT coalesce(max(version), 0), coalesce(max(oldest), 0) FROM perdure_schema`
	sqlAddSchema    = `INSERT INTO perdure_schema (version, name, oldest, applied_at) VALUES (?, ?, ?, ?)`
)

func hasSchema(ctx context.Context, c *conn) (bool, error) {
	n, err := c.integer(ctx, sqlHasSchema)
	return n > 0, err
}

// checkSchema refuses a file of a newer release that does not admit this one. If the file must be up to date, it refuses one
// that lacks a migration.
func checkSchema(ctx context.Context, c *conn, upToDate bool) error {
	has, err := hasSchema(ctx, c)
	if err != nil || !has && !upToDate {
		return err
	}
	var version, oldest int64
	if has {
		_, err = c.one(ctx, sqlSchemaBounds, func(r *row) { version, oldest = r.int(0), r.int(1) })
	}
	switch {
	case err != nil:
		return err
	case oldest > codeLevel:
		return fmt.Errorf("%w: the file has schema %d, which needs code of level %d or newer, and this release has level %d; upgrade it, "+
			"or restore a backup from before the upgrade", provider.ErrNewerSchema, version, oldest, codeLevel)
	case !upToDate:
		return nil
	}
	steps, err := migrations(ctx, c)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if !step.Applied {
			return fmt.Errorf("%w: migration %d (%s) is missing; run the migrations, or open without NoMigrate and ReadOnly",
				provider.ErrNotStore, step.Version, step.Name)
		}
	}
	return nil
}

// migrations lists all steps and whether each is applied.
func migrations(ctx context.Context, c *conn) ([]provider.Migration, error) {
	list, err := relational.Migrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	has, err := hasSchema(ctx, c)
	if err != nil || !has {
		return list, err
	}
	err = c.each(ctx, sqlSchema, func(r *row) error {
		for i := range list {
			if int64(list[i].Version) == r.int(0) {
				list[i].Applied = true
			}
		}
		return nil
	})
	return list, err
}

// migrate applies the missing steps. Each has a transaction of its own, which first checks whether another process was faster.
func migrate(ctx context.Context, c *conn, now provider.Time) error {
	list, err := migrations(ctx, c)
	if err != nil {
		return err
	}
	for _, step := range list {
		if step.Applied {
			continue
		}
		err := inTransaction(ctx, c, func() error { return apply(ctx, c, step, now) })
		if err != nil {
			return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, err)
		}
	}
	return nil
}

func apply(ctx context.Context, c *conn, step provider.Migration, now provider.Time) error {
	if _, err := c.exec(ctx, sqlCreateSchema); err != nil {
		return err
	}
	list, err := migrations(ctx, c)
	if err != nil {
		return err
	}
	for _, other := range list {
		if other.Version == step.Version && other.Applied {
			return nil
		}
	}
	if err := c.script(ctx, step.SQL); err != nil {
		return err
	}
	_, err = c.exec(ctx, sqlAddSchema, step.Version, step.Name, oldestLevel, now)
	return err
}

// Migrations lists the migrations of this release and which of them the file at path has. It does not change the file. An
// empty path stands for a file that has none.
func Migrations(ctx context.Context, path string) (list []provider.Migration, err error) {
	if path == "" {
		return relational.Migrations(migrationFiles)
	}
	full, err := checkPath(path, true)
	if err != nil {
		return nil, err
	}
	registry.mu.Lock()
	err = checkName(full)
	registry.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	c, err := connect(ctx, dsn(full, Options{NoMigrate: true}.withDefaults(), true))
	if err == nil {
		list, err = migrations(ctx, c)
		err = errors.Join(err, c.close())
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, explain(err))
	}
	return list, nil
}

// A migrator shows and applies migrations.
type migrator struct{ *handle }

// Migrations implements [provider.Migrator].
func (mg *migrator) Migrations(ctx context.Context) (list []provider.Migration, err error) {
	err = mg.read(ctx, "migrations", func(c *conn) error {
		list, err = migrations(ctx, c)
		return err
	})
	return list, err
}

// Migrate implements [provider.Migrator]. Open has applied everything already, or NoMigrate was set and the schema was up to
// date. So there is nothing to do.
func (mg *migrator) Migrate(ctx context.Context) error {
	list, err := mg.Migrations(ctx)
	if err != nil {
		return err
	}
	for _, step := range list {
		if !step.Applied {
			return fmt.Errorf("migration %d (%s): %w: open the file anew to apply it", step.Version, step.Name, provider.ErrNotStore)
		}
	}
	return nil
}
