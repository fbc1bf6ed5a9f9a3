package doors_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

var (
	providerInvalid = kind{"provider.ErrInvalid", provider.ErrInvalid}
	notStore        = kind{"provider.ErrNotStore", provider.ErrNotStore}
	newerSchema     = kind{"provider.ErrNewerSchema", provider.ErrNewerSchema}
	notExist        = kind{"fs.ErrNotExist", fs.ErrNotExist}
)

// write makes a file in dir.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// database creates or changes a SQLite file without perdure.
func database(t *testing.T, path, statement string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// newer makes a store that looks as if a later release had written it.
func newer(t *testing.T, path string) string {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return database(t, path, "UPDATE perdure_schema SET version = 99, oldest = 99 WHERE version = 1")
}

// level returns what an error says of the level of this release, and what stands for it, so that a migration changes no text.
func level(t *testing.T) []string {
	t.Helper()
	known, err := sqlite.Migrations(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return []string{fmt.Sprintf("this release has level %d", known[len(known)-1].Version), "this release has level N"}
}

// placed is an error without what differs from test to test.
type placed struct {
	error

	hide *strings.Replacer
}

func (p *placed) Error() string { return p.hide.Replace(p.error.Error()) }

func (p *placed) Unwrap() error { return p.error }

func openingFiles() section {
	return section{
		title: "sqlite.Open",
		intro: "No file is created. DIR stands for a directory, N for a number.",
		rows: func(t *testing.T, _ *world) []row {
			dir := t.TempDir()
			note := write(t, dir, "note.txt", strings.Repeat("this is no database\n", 100))
			own := database(t, filepath.Join(dir, "own.db"), "CREATE TABLE customer (name TEXT)")
			future := newer(t, filepath.Join(dir, "newer.db"))
			files := func() int {
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Error(err)
				}
				n := 0
				for _, e := range entries {
					if strings.HasSuffix(e.Name(), ".db") {
						n++
					}
				}
				return n
			}
			before, hide := files(), strings.NewReplacer(append(level(t), dir, "DIR")...)
			open := func(path string, o sqlite.Options) func(context.Context) error {
				return func(context.Context) error {
					o.Logger = quiet()
					store, err := sqlite.OpenWith(path, o) //nolint:contextcheck // opening takes no context
					if err == nil {
						return errors.Join(errors.New("opened all the same"), store.Close())
					}
					if store != nil || files() != before {
						t.Error("left a store or a database")
					}
					return &placed{err, hide}
				}
			}
			plain := func(path string) func(context.Context) error { return open(path, sqlite.Options{}) }
			return []row{
				{"an empty path", plain(""), providerInvalid, "open: the path is empty: give the name of a file, such as orders.db: invalid request", "If the path comes from the environment, check that it is set."},
				{"`:memory:`", plain(":memory:"), providerInvalid, `open ":memory:": not the path of a file; for a store in memory use the package provider/memory, or a file in a temporary directory: invalid request`, "Use `memory.New` in tests."},
				{"a URL", plain("file:orders.db?mode=ro"), providerInvalid, `open "file:orders.db?mode=ro": not the path of a file; for a store in memory use the package provider/memory, or a file in a temporary directory: invalid request`, "Give the plain path."},
				{"a path with NUL", plain("orders\x00.db"), providerInvalid, `open "orders\x00.db": the path has a NUL byte: invalid request`, "Take it out."},
				{"a directory", plain(dir), providerInvalid, "open DIR: it is a directory; name a file in it: invalid request", "Name a file in it."},
				{"a directory that does not exist", plain(filepath.Join(dir, "none", "orders.db")), notExist, "open DIR/none/orders.db: the directory must exist: stat DIR/none: no such file or directory", "Make the directory; a mistyped path must not become a new store."},
				{"a file in a file", plain(filepath.Join(note, "orders.db")), providerInvalid, "open DIR/note.txt/orders.db: DIR/note.txt is not a directory: invalid request", "Check the path."},
				{"a file that is no database", plain(note), notStore, "open DIR/note.txt: not a perdure store: the file is not a SQLite database; give another path, or move the file away: file is not a database (26)", "Check the path. The file is left as it is."},
				{"`NoMigrate`, database without a store", open(own, sqlite.Options{NoMigrate: true}), notStore, "open DIR/own.db: not a perdure store: migration 1 (core) is missing; run the migrations, or open without NoMigrate and ReadOnly", "Run `perdure migrate up`, or open without `NoMigrate`."},
				{"a store of a newer release", plain(future), newerSchema, "open DIR/newer.db: store has a newer schema: the file has schema 99, which needs code of level 99 or newer, and this release has level N; upgrade it, or restore a backup from before the upgrade", "Upgrade this program first, then the others."},
			}
		},
	}
}
