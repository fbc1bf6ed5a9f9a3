package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/provider"
)

// database is the location of a store. Its texts and errors contain no password.
type database interface {
	// name returns the value of --db, and String the same without a password.
	name() string
	String() string
	// ledger returns the path at which activities of this program record their effects, or "" if there is none.
	ledger() string

	// open creates nothing and changes no schema, so that a mistyped name never creates an empty database.
	open(ctx context.Context, logger *slog.Logger) (provider.Provider, error)
	// create opens the store and brings its schema up to date.
	create(ctx context.Context, logger *slog.Logger) (provider.Provider, error)
	// read opens the store for a command that only reads. It creates no lock files next to a SQLite file.
	read(ctx context.Context, logger *slog.Logger) (provider.Provider, error)
	// view opens the store read-only.
	view(ctx context.Context, logger *slog.Logger) (provider.Provider, error)

	migrations(ctx context.Context) ([]provider.Migration, error)
	// script returns the migrations of this release without a database.
	script(ctx context.Context) ([]provider.Migration, error)
	grants(role string) ([]string, error)
	// salvage returns advice for a store that cannot be read completely.
	salvage() string
}

// databaseOf parses a value of --db.
func databaseOf(name string) (database, error) {
	s, isServer, err := dbname.Parse(name)
	switch {
	case err != nil:
		return nil, &usageError{err}
	case isServer:
		return server{s}, nil
	}
	return file(name), nil
}

// database returns the database that the user named.
func (a *app) database() (database, error) {
	name := a.named()
	if name == "" {
		return nil, badUsage("no database is named: give --db with a path or a postgres:// URL, or set %s", dbVariable)
	}
	db, err := databaseOf(name)
	if err != nil || !a.readOnly {
		return db, err
	}
	return readOnly{db}, nil
}

// named returns the database name from the flag or the environment, or "".
func (a *app) named() string { return cmp.Or(a.db, strings.TrimSpace(os.Getenv(dbVariable))) }

// readOnly is a database that no command can change, for --read-only.
type readOnly struct{ database }

func (r readOnly) open(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return r.view(ctx, logger)
}

func (r readOnly) create(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return r.view(ctx, logger)
}

func (r readOnly) read(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return r.view(ctx, logger)
}

// withClient calls fn with a client of the existing database.
func (a *app) withClient(ctx context.Context, fn func(context.Context, *client.Client) error) error {
	return a.with(ctx, database.open, fn)
}

// withReader calls fn with a client for reading only.
func (a *app) withReader(ctx context.Context, fn func(context.Context, *client.Client) error) error {
	return a.with(ctx, database.read, fn)
}

type opener = func(database, context.Context, *slog.Logger) (provider.Provider, error)

func (a *app) with(ctx context.Context, open opener, fn func(context.Context, *client.Client) error) error {
	return a.withStore(ctx, open, func(ctx context.Context, store provider.Provider) error {
		c, err := client.New(store, a.clientOptions())
		if err == nil {
			c, err = c.As(shellUser())
		}
		if err != nil {
			return err
		}
		return fn(ctx, c)
	})
}

// withStore calls fn with the existing database.
func (a *app) withStore(ctx context.Context, open opener, fn func(context.Context, provider.Provider) error) (err error) {
	db, err := a.database()
	if err != nil {
		return err
	}
	store, err := open(db, ctx, a.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return fn(ctx, store)
}
