package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/provider"
)

// migration is one step in the output of migrate.
type migration struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// migrationSQL is one step in the output of migrate print.
type migrationSQL struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	SQL     string `json:"sql"`
}

func newMigrate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "List, apply or print schema migrations",
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "status", Short: "List the migrations and whether they are applied", Args: arguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.migrateStatus(cmd) },
		},
		&cobra.Command{
			Use: "up", Short: "Apply missing migrations; create the file or schema if there is none", Args: arguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.migrateUp(cmd) },
		},
		&cobra.Command{
			Use: "print", Short: "Print the SQL of all migrations", Args: arguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.migratePrint(cmd) },
		},
		&cobra.Command{
			Use: "grants ROLE", Short: "Print the SQL that lets a Postgres role run the store without changing its tables", Args: arguments,
			Long: "Grants prints the SQL with which the owner of the tables lets another Postgres role run the store. The role may\n" +
				"read and change rows, but not create anything. Run the SQL again after each migration. The command needs no\n" +
				"database:\n\n" +
				"  perdure migrate grants app --db postgres://owner@host/database | psql postgres://owner@host/database",
			RunE: func(cmd *cobra.Command, args []string) error { return a.migrateGrants(cmd, args[0]) },
		},
	)
	return cmd
}

func (a *app) migrateStatus(cmd *cobra.Command) error {
	db, err := a.database()
	if err != nil {
		return err
	}
	steps, err := db.migrations(cmd.Context())
	if err != nil {
		return err
	}
	return a.showMigrations(cmd, steps)
}

func (a *app) migrateUp(cmd *cobra.Command) (err error) {
	db, err := a.database()
	if err != nil {
		return err
	}
	store, err := db.create(cmd.Context(), a.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	steps, err := migrations(cmd.Context(), store)
	if err != nil {
		return err
	}
	return a.showMigrations(cmd, steps)
}

// migratePrint needs no database. The database name selects the SQL dialect.
func (a *app) migratePrint(cmd *cobra.Command) error {
	db, err := databaseOf(a.named())
	if err != nil {
		return err
	}
	steps, err := db.script(cmd.Context())
	if err != nil {
		return fmt.Errorf("reading migrations: %w", err)
	}
	if a.output != outputTable {
		out := make([]migrationSQL, len(steps))
		for i, step := range steps {
			out[i] = migrationSQL{step.Version, step.Name, step.SQL}
		}
		return a.showLines(cmd, struct {
			Migrations []migrationSQL `json:"migrations"`
		}{out}, each(out), nil)
	}
	for _, step := range steps {
		fmt.Fprintf(cmd.OutOrStdout(), "-- migration %d: %s\n%s\n", step.Version, step.Name, step.SQL)
	}
	return nil
}

func (a *app) migrateGrants(cmd *cobra.Command, role string) error {
	db, err := a.database()
	if err != nil {
		return err
	}
	statements, err := db.grants(role)
	if err != nil {
		return err
	}
	if a.output != outputTable {
		return a.showLines(cmd, struct {
			Statements []string `json:"statements"`
		}{statements}, each(statements), nil)
	}
	for _, statement := range statements {
		fmt.Fprintf(cmd.OutOrStdout(), "%s;\n", statement)
	}
	return nil
}

func (a *app) showMigrations(cmd *cobra.Command, steps []provider.Migration) error {
	out := make([]migration, len(steps))
	for i, step := range steps {
		out[i] = migration{step.Version, step.Name, step.Applied}
	}
	return a.showLines(cmd, struct {
		Migrations []migration `json:"migrations"`
	}{out}, each(out), func(w *grid) {
		row(w, "VERSION", "NAME", "APPLIED")
		for _, step := range out {
			row(w, step.Version, step.Name, map[bool]string{true: "yes", false: "no"}[step.Applied])
		}
	})
}

func migrations(ctx context.Context, store provider.Provider) ([]provider.Migration, error) {
	migrator, ok := provider.As[provider.Migrator](store)
	if !ok {
		return nil, errors.New("this kind of store has no migrations")
	}
	return migrator.Migrations(ctx)
}
