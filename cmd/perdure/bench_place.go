package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// benchPlace is where bench makes its stores.
type benchPlace interface {
	// settings are those that say what the figures are worth.
	settings(ctx context.Context) (placeSettings, error)
	// begin makes a store, or answers the one that is kept.
	begin(ctx context.Context) (database, error)
	open(ctx context.Context, db database, logger *slog.Logger) (provider.Provider, error)
	// read tells what the place has done so far.
	read(ctx context.Context) (placeReading, error)
	// pair opens what makes bare commits at the same place.
	pair(ctx context.Context) (*barePair, error)
	// end removes the store, unless it is kept.
	end(ctx context.Context) error
	close(ctx context.Context) error
}

// placeSettings are the kind of the store, its version, and settings by name; unsafe names those under which a
// commit that was told can be lost.
type placeSettings struct {
	store, version string
	names          []string // in order
	values         map[string]string
	unsafe         []string
}

func (s *placeSettings) add(name, value string, safe bool) {
	if s.values == nil {
		s.values = make(map[string]string)
	}
	s.names = append(s.names, name)
	s.values[name] = value
	if !safe {
		s.unsafe = append(s.unsafe, name)
	}
}

// placeReading are counters that only grow; nil is not known.
type placeReading struct {
	cpu          *time.Duration // of the server
	written      *int64         // bytes of its log
	transactions *int64         // of the database
}

// The values of the flag --synchronous.
const (
	synchronousFull   = "full"
	synchronousNormal = "normal"
	synchronousOff    = "off"
)

// benchPlace answers the place that the flags name. The environment's database may be a real one.
func (a *app) benchPlace(ctx context.Context, o benchOptions) (benchPlace, error) {
	level, ok := map[string]sqlite.Synchronous{synchronousFull: sqlite.Full, synchronousNormal: sqlite.Normal, synchronousOff: sqlite.Off}[o.synchronous]
	if !ok {
		return nil, badUsage("flag --synchronous is %q: it must be full, normal or off", o.synchronous)
	}
	if o.keep && a.db == "" {
		return nil, badUsage("flag --keep needs --db, which names the store to keep")
	}
	f := &benchFile{path: a.db, keep: o.keep, synchronous: level, level: o.synchronous}
	if a.db != "" {
		db, err := databaseOf(a.db)
		if err != nil {
			return nil, err
		}
		if s, ok := db.(server); ok {
			return newBenchServer(ctx, s, o)
		}
		return f, f.mayBegin()
	}
	dir, err := os.MkdirTemp("", "perdure-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for stores: %w", err)
	}
	f.dir, f.path = dir, filepath.Join(dir, "bench.db")
	return f, nil
}

// benchFile makes SQLite files.
type benchFile struct {
	path        string
	dir         string // to be removed; "" for none
	keep        bool
	synchronous sqlite.Synchronous
	level       string
}

// mayBegin guards a file that is there.
func (f *benchFile) mayBegin() error {
	_, err := os.Stat(f.path)
	switch {
	case f.keep || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &storeError{fmt.Errorf("open %s: %w", f.path, err)}
	}
	return badUsage("%s is there: each run makes a file of that name and removes it; name one that does not exist, or give --keep to run on it as it is", f.path)
}

func (f *benchFile) settings(context.Context) (placeSettings, error) {
	s := placeSettings{store: "sqlite", version: lib.SQLITE_VERSION}
	s.add("synchronous", f.level, f.synchronous == sqlite.Full)
	s.add("journal_mode", "wal", true)
	disk := "disk"
	if measure.InMemory(filepath.Dir(f.path)) {
		disk = "memory"
	}
	s.add("file_system", disk, disk == "disk")
	return s, nil
}

func (f *benchFile) begin(context.Context) (database, error) { return file(f.path), f.mayBegin() }

func (f *benchFile) open(_ context.Context, db database, logger *slog.Logger) (provider.Provider, error) {
	o := sqlite.Options{Synchronous: f.synchronous, Logger: logger}
	store, err := sqlite.OpenWith(db.name(), o) //nolint:contextcheck // opening has a bound of its own
	if err != nil {
		return nil, &storeError{err}
	}
	return store, nil
}

// read tells nothing: what a file costs is the process's own.
func (f *benchFile) read(context.Context) (placeReading, error) { return placeReading{}, nil }

func (f *benchFile) end(context.Context) error {
	if f.keep {
		return nil
	}
	var errs []error
	for _, beside := range []string{"", "-wal", "-shm", "-q", "-w", "-p"} {
		if err := os.Remove(f.path + beside); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (f *benchFile) close(context.Context) error {
	if f.dir == "" {
		return nil
	}
	return os.RemoveAll(f.dir)
}
