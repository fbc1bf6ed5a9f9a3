package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

var errNoFile = errors.New("there is no such file")

// mountedVariable admits a SQLite file that is mounted alone into a container.
const mountedVariable = "PERDURE_MOUNTED_FILE"

func mountedFile() bool { return os.Getenv(mountedVariable) == "1" }

// file is a SQLite file.
type file string

func (f file) name() string { return string(f) }

func (f file) String() string { return string(f) }

func (f file) ledger() string { return string(f) + "-ledger" }

func (f file) open(_ context.Context, logger *slog.Logger) (provider.Provider, error) {
	return f.existing(sqlite.Options{NoMigrate: true, Logger: logger, MountedFile: mountedFile()}) //nolint:contextcheck // opening has its own timeout
}

func (f file) create(_ context.Context, logger *slog.Logger) (provider.Provider, error) {
	store, err := sqlite.OpenWith(string(f), sqlite.Options{Logger: logger, MountedFile: mountedFile()}) //nolint:contextcheck // opening has its own timeout
	if err != nil {
		return nil, &storeError{err}
	}
	return store, nil
}

func (f file) read(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return f.view(ctx, logger)
}

func (f file) view(_ context.Context, logger *slog.Logger) (provider.Provider, error) {
	return f.existing(sqlite.Options{ReadOnly: true, Logger: logger, MountedFile: mountedFile()}) //nolint:contextcheck // opening has its own timeout
}

func (f file) existing(o sqlite.Options) (provider.Provider, error) {
	if err := f.mustExist(); err != nil {
		return nil, err
	}
	store, err := sqlite.OpenWith(string(f), o)
	if links := sqlite.Links(string(f)); errors.Is(err, provider.ErrNotStore) && links > 1 { // migrating would complete the damage
		return nil, &storeError{fmt.Errorf("%w; the file has %d names (hard links), and its tables may be in the log beside another one: "+
			"find it with 'find / -samefile %s', and open the file by that name", err, links, f)}
	}
	if errors.Is(err, provider.ErrNotStore) && f.isDatabase() {
		return nil, &storeError{fmt.Errorf("%w; 'perdure migrate up --db %s' creates the missing tables", err, f)}
	}
	if err != nil {
		return nil, &storeError{err}
	}
	return store, nil
}

func (f file) migrations(ctx context.Context) ([]provider.Migration, error) {
	if err := f.mustExist(); err != nil {
		return nil, err
	}
	steps, err := sqlite.Migrations(ctx, string(f))
	if err != nil {
		return nil, &storeError{err}
	}
	return steps, nil
}

func (f file) script(ctx context.Context) ([]provider.Migration, error) {
	return sqlite.Migrations(ctx, "")
}

func (f file) grants(string) ([]string, error) {
	return nil, badUsage("a SQLite file has no roles: name a Postgres database with --db postgres://...")
}

func (f file) salvage() string {
	return "if the file is damaged, restore a backup, or save the readable rows with sqlite3's .dump"
}

func (f file) mustExist() error {
	_, err := os.Stat(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return &storeError{fmt.Errorf("open %s: %w; check --db and %s, or create it with 'perdure migrate up --db %s'",
			f, errNoFile, dbVariable, f)}
	}
	if err != nil {
		return &storeError{fmt.Errorf("open %s: %w", f, err)}
	}
	return nil
}

// hasTables reports whether the file is a SQLite database that is not empty.
func (f file) hasTables() bool {
	info, err := os.Stat(string(f))
	return err == nil && info.Size() > 0 && f.isDatabase()
}

// isDatabase reports whether the file is a SQLite file or empty. SQLite accepts an empty file as a database.
func (f file) isDatabase() bool {
	const magic = "SQLite format 3\x00"
	opened, err := os.Open(string(f))
	if err != nil {
		return false
	}
	head := make([]byte, len(magic))
	n, _ := opened.Read(head)
	return opened.Close() == nil && (n == 0 || string(head[:n]) == magic)
}
