package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// database is where a store is kept. What it prints, errors too, shows no password.
type database interface {
	// name is what --db takes, and String the same without a password.
	name() string
	String() string
	// ledger is where activities of the binary keep their effects; "" if there is no place for them.
	ledger() string

	// open creates nothing and changes no schema: a database that is mistyped must not become an empty one.
	open(ctx context.Context, logger *slog.Logger) (provider.Provider, error)
	// create opens it and brings its schema up to date.
	create(ctx context.Context, logger *slog.Logger) (provider.Provider, error)
	// read opens it for a command that only reads. It makes no lock files beside a SQLite file.
	read(ctx context.Context, logger *slog.Logger) (provider.Provider, error)
	// view opens it so that nothing can be changed.
	view(ctx context.Context, logger *slog.Logger) (provider.Provider, error)

	migrations(ctx context.Context) ([]provider.Migration, error)
	// script lists the migrations of this release, and asks no database.
	script(ctx context.Context) ([]provider.Migration, error)
	grants(role string) ([]string, error)
	// salvage is what to do when it cannot be read to its end.
	salvage() string
}

// databaseOf reads what --db takes.
func databaseOf(name string) (database, error) {
	scheme, _, isURL := strings.Cut(strings.ToLower(name), "://")
	switch {
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return newServer(name)
	case isURL && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+") == "" && scheme != "file",
		strings.HasPrefix(scheme, "postgres:"), strings.HasPrefix(scheme, "postgresql:"), strings.Contains(scheme, "password="):
		return nil, badUsage("this is no database: give the path of a SQLite file, or a URL such as postgres://user@host/database")
	}
	return file(name), nil
}

// readOnly is a database that no command can change: --read-only.
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

// withClient runs fn with a client of the existing database.
func (a *app) withClient(ctx context.Context, fn func(context.Context, *client.Client) error) error {
	return a.with(ctx, database.open, fn)
}

// withReader runs fn with a client that fn only reads with.
func (a *app) withReader(ctx context.Context, fn func(context.Context, *client.Client) error) error {
	return a.with(ctx, database.read, fn)
}

type opener = func(database, context.Context, *slog.Logger) (provider.Provider, error)

func (a *app) with(ctx context.Context, open opener, fn func(context.Context, *client.Client) error) (err error) {
	db, err := a.database()
	if err != nil {
		return err
	}
	store, err := open(db, ctx, a.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return fn(ctx, client.New(store, client.Options{Logger: a.logger}))
}
