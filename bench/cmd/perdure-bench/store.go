package main

import (
	"context"
	"log/slog"

	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
)

// openStore opens a database that is there.
func openStore(ctx context.Context, db string, logger *slog.Logger) (store provider.Provider, err error) {
	s, isServer, err := dbname.Parse(db)
	if err != nil {
		return nil, &usageError{err}
	}
	if isServer {
		store, err = postgres.OpenWith(ctx, s.URL, postgres.Options{Schema: s.Schema, NoMigrate: true, Logger: logger})
	} else {
		store, err = sqlite.OpenWith(db, sqlite.Options{NoMigrate: true, Logger: logger}) //nolint:contextcheck // opening has its own timeout
	}
	if err != nil {
		return nil, &storeError{err}
	}
	return store, nil
}
