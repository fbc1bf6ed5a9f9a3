package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// stores creates a fresh store for each run.
type stores struct {
	dir      string // for SQLite
	postgres string // URL of a server
}

// fresh creates a store and returns a function that removes it.
func (s stores) fresh(ctx context.Context, kind string) (store, func() error, error) {
	if kind == kindSQLite {
		dir, err := os.MkdirTemp(s.dir, "compare-")
		if err != nil {
			return store{}, nil, err
		}
		return store{kind, filepath.Join(dir, "store.db")}, func() error { return os.RemoveAll(dir) }, nil
	}
	address, err := url.Parse(s.postgres)
	if err != nil {
		return store{}, nil, err
	}
	name := "compare_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	// Flush the data of the previous run now, so that this run does not have to.
	if err := s.exec(ctx, "CREATE DATABASE "+name, "CHECKPOINT"); err != nil {
		return store{}, nil, err
	}
	address.Path = "/" + name
	remove := func() error {
		return s.exec(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
	}
	return store{kind, address.String()}, remove, nil
}

func (s stores) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, s.postgres)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, failed := conn.Exec(ctx, statement); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", statement, failed))
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

// errWeak is the error of a server that does not sync its commits.
var errWeak = errors.New("the server may lose acknowledged commits")

// serverSettings reads the server's settings for commits, and refuses a server that does not sync them.
func (s stores) serverSettings(ctx context.Context) (settings []string, err error) {
	conn, err := pgx.Connect(ctx, s.postgres)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, name := range []string{
		"server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers", "max_wal_size", "max_connections",
	} {
		var value string
		if err := conn.QueryRow(ctx, "SHOW "+name).Scan(&value); err != nil {
			return nil, err
		}
		settings = append(settings, name+"="+value)
	}
	for _, weak := range []string{"fsync=off", "synchronous_commit=off"} {
		if slices.Contains(settings, weak) {
			return nil, fmt.Errorf("%w: %s", errWeak, weak)
		}
	}
	return settings, nil
}

// diskWait returns the median time of writing and syncing a page in the directory of the SQLite files. A few
// microseconds indicate a file system in memory, where nothing is durable and no comparison is fair.
func (s stores) diskWait() (wait time.Duration, err error) {
	f, err := os.CreateTemp(s.dir, "compare-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page, waits := make([]byte, 4096), make([]time.Duration, 50)
	for i := range waits {
		began := time.Now()
		if _, err := f.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		waits[i] = time.Since(began)
	}
	slices.Sort(waits)
	return waits[len(waits)/2], nil
}
