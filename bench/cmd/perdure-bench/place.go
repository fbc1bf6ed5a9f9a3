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
	// settings returns the settings that affect the figures.
	settings(ctx context.Context) (placeSettings, error)
	// begin returns the name of a database that open creates, or that of the kept one.
	begin(ctx context.Context) (db string, err error)
	open(ctx context.Context, logger *slog.Logger) (provider.Provider, error)
	// read returns the counters of the place.
	read(ctx context.Context) (placeReading, error)
	// pair returns a barePair for the same place.
	pair(ctx context.Context) (*barePair, error)
	// end removes the store, unless it is kept.
	end(ctx context.Context) error
	close(ctx context.Context) error
}

// placeSettings are the kind of the store, its version, and settings by name. unsafe names the settings under which
// an acknowledged commit can be lost.
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

// placeReading holds counters that only grow; nil means unknown.
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

// benchFile creates SQLite files.
type benchFile struct {
	path        string
	dir         string // to be removed; "" for none
	keep        bool
	synchronous sqlite.Synchronous
	level       string
}

// mayBegin returns an error if the file exists, unless it is to be kept.
func (f *benchFile) mayBegin() error {
	_, err := os.Stat(f.path)
	switch {
	case f.keep || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &storeError{fmt.Errorf("open %s: %w", f.path, err)}
	}
	return badUsage("%s exists: each run creates and removes this file; name a new file, or give --keep to run on the existing one", f.path)
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

func (f *benchFile) begin(context.Context) (db string, err error) { return f.path, f.mayBegin() }

func (f *benchFile) open(_ context.Context, logger *slog.Logger) (provider.Provider, error) {
	o := sqlite.Options{Synchronous: f.synchronous, Logger: logger}
	store, err := sqlite.OpenWith(f.path, o) //nolint:contextcheck // opening has its own timeout
	if err != nil {
		return nil, &storeError{err}
	}
	return store, nil
}

// read returns no counters: a file's cost is part of this process's usage.
func (f *benchFile) read(context.Context) (placeReading, error) { return placeReading{}, nil }

func (f *benchFile) end(context.Context) error {
	if f.keep {
		return nil
	}
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-q", "-w", "-p"} {
		if err := os.Remove(f.path + suffix); !errors.Is(err, fs.ErrNotExist) {
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
