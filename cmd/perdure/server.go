package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"

	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
)

// The parameter and the variable that select one of several servers.
const (
	sessionParameter = "target_session_attrs"
	sessionVariable  = "PGTARGETSESSIONATTRS"
)

// server is a schema of a Postgres database.
type server struct{ dbname.Server }

func (s server) name() string { return s.Given }

func (s server) ledger() string { return "" }

func (s server) open(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return s.connect(ctx, s.URL, postgres.Options{NoMigrate: true, Logger: logger})
}

func (s server) create(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return s.connect(ctx, s.URL, postgres.Options{Logger: logger})
}

// read is the same as open, since some poolers refuse the session parameter of view.
func (s server) read(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return s.open(ctx, logger)
}

func (s server) view(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	address, err := s.With(func(parameters url.Values) {
		parameters.Set("default_transaction_read_only", "on")
		// A read-only session never counts as read-write, so ask for the primary, which is the server that takes writes.
		if cmp.Or(parameters.Get(sessionParameter), os.Getenv(sessionVariable)) == "read-write" {
			parameters.Set(sessionParameter, "primary")
		}
	})
	if err != nil {
		return nil, &usageError{err} // unreachable: databaseOf has parsed it
	}
	return s.connect(ctx, address, postgres.Options{NoMigrate: true, Logger: logger})
}

func (s server) connect(ctx context.Context, url string, o postgres.Options) (provider.Provider, error) {
	o.Schema = s.Schema
	store, err := postgres.OpenWith(ctx, url, o)
	if err != nil {
		return nil, serverError(err)
	}
	return store, nil
}

// serverError returns a usage error for invalid input, and a store error otherwise.
func serverError(err error) error {
	if errors.Is(err, provider.ErrInvalid) {
		return &usageError{err}
	}
	return &storeError{err}
}

func (s server) migrations(ctx context.Context) ([]provider.Migration, error) {
	steps, err := postgres.Migrations(ctx, s.URL, postgres.Options{Schema: s.Schema})
	if err != nil {
		return nil, serverError(err)
	}
	return steps, nil
}

func (s server) script(ctx context.Context) ([]provider.Migration, error) {
	steps, err := postgres.Migrations(ctx, "", postgres.Options{Schema: s.Schema})
	if err != nil {
		return nil, serverError(err)
	}
	return steps, nil
}

func (s server) grants(role string) ([]string, error) { return postgres.Grants(s.Schema, role), nil }

func (s server) salvage() string {
	return "if the server works, run doctor again; if it reports damage, restore a backup"
}
