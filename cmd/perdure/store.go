package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// openExisting opens the database that the user named. It creates nothing and changes no
// schema: a path that is mistyped must not become an empty database.
func (a *app) openExisting() (provider.Provider, error) {
	path, err := a.database()
	if err != nil {
		return nil, err
	}
	if err := mustExist(path); err != nil {
		return nil, err
	}
	store, err := sqlite.OpenWith(path, sqlite.Options{NoMigrate: true, Logger: a.logger})
	if errors.Is(err, provider.ErrNotStore) && isDatabase(path) {
		return nil, &storeError{fmt.Errorf("%w; 'perdure migrate up --db %s' creates the missing tables", err, path)}
	}
	if err != nil {
		return nil, &storeError{err}
	}
	return store, nil
}

// openOrCreate opens a database and brings its schema up to date.
func (a *app) openOrCreate(path string) (provider.Provider, error) {
	store, err := sqlite.OpenWith(path, sqlite.Options{Logger: a.logger})
	if err != nil {
		return nil, &storeError{err}
	}
	return store, nil
}

func mustExist(path string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &storeError{fmt.Errorf("open %s: there is no such file; check --db and %s, or create it with 'perdure migrate up --db %s'",
			path, dbVariable, path)}
	}
	if err != nil {
		return &storeError{fmt.Errorf("open %s: %w", path, err)}
	}
	return nil
}

// isDatabase tells a SQLite file, or an empty one, which SQLite takes for a database.
func isDatabase(path string) bool {
	const magic = "SQLite format 3\x00"
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	head := make([]byte, len(magic))
	n, _ := f.Read(head)
	return f.Close() == nil && (n == 0 || string(head[:n]) == magic)
}

// withClient runs fn with a client of the existing database.
func (a *app) withClient(ctx context.Context, fn func(context.Context, *client.Client) error) (err error) {
	store, err := a.openExisting() //nolint:contextcheck // opening has a bound of its own
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return fn(ctx, client.New(store, client.Options{Logger: a.logger}))
}
