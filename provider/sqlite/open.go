package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// openTimeout bounds the work of Open on the file.
const openTimeout = 30 * time.Second

// Open opens the store in the file path, or creates it. The file may be a database of the
// application's own: all tables of the store begin with perdure_.
func Open(path string) (*Provider, error) { return OpenWith(path, Options{}) }

// OpenWith is Open with options.
//
// It returns [provider.ErrNotStore] if the file is not a SQLite database, or has no store and NoMigrate or ReadOnly is set. It
// returns fs.ErrNotExist if one of these is set and there is no file, and [provider.ErrNewerSchema] if a newer release wrote
// the file. A refused file is not changed.
func OpenWith(path string, options Options) (*Provider, error) {
	options = options.withDefaults()
	registry.mu.Lock() // a file is created only while the process does not have it open
	defer registry.mu.Unlock()
	full, err := checkPath(path, options.ReadOnly || options.NoMigrate)
	if err != nil {
		return nil, err
	}
	s := sharing(full, options.ReadOnly)
	if s == nil {
		ctx, cancel := context.WithTimeout(writerContext(), openTimeout)
		defer cancel()
		opener := openStore
		if options.ReadOnly {
			opener = openToRead
		}
		if s, err = opener(ctx, full, options); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		registry.stores = append(registry.stores, s)
	}
	s.handles++
	return newProvider(s, options.ReadOnly), nil
}

// checkPath finds mistakes that SQLite reports badly. It creates the file unless it must exist, and makes path absolute.
func checkPath(path string, must bool) (string, error) {
	switch {
	case path == "":
		return "", fmt.Errorf("open: the path is empty: give the name of a file, such as orders.db: %w", provider.ErrInvalid)
	case path == ":memory:" || strings.HasPrefix(path, "file:"):
		return "", fmt.Errorf("open %q: not the path of a file; for a store in memory use the package provider/memory, "+
			"or a file in a temporary directory: %w", path, provider.ErrInvalid)
	case strings.IndexByte(path, 0) >= 0:
		return "", fmt.Errorf("open %q: the path has a NUL byte: %w", path, provider.ErrInvalid)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	dir, err := os.Stat(filepath.Dir(full)) //nolint:gosec // the caller names the file
	if err != nil {
		return "", fmt.Errorf("open %s: the directory must exist: %w", path, err)
	}
	if !dir.IsDir() {
		return "", fmt.Errorf("open %s: %s is not a directory: %w", path, filepath.Dir(full), provider.ErrInvalid)
	}
	if _, err := os.Stat(full); !must && errors.Is(err, fs.ErrNotExist) { //nolint:gosec // the caller names the file
		if err := createFile(full); err != nil {
			return "", fmt.Errorf("open %s: the file cannot be created; check owner and mode of the directory: %w", path, err)
		}
	}
	if target, err := filepath.EvalSymlinks(full); err == nil {
		full = target // so that the lock files are next to the real file, whatever name it is opened by
	}
	info, err := os.Stat(full) //nolint:gosec // the caller names the file
	switch {
	case err != nil && must:
		return "", fmt.Errorf("open %s: there must be a store already, as it is opened with ReadOnly or NoMigrate: %w", path, err)
	case err == nil && !info.Mode().IsRegular():
		what := "not a regular file"
		if info.IsDir() {
			what = "a directory; name a file in it"
		}
		return "", fmt.Errorf("open %s: it is %s: %w", path, what, provider.ErrInvalid)
	}
	return full, nil
}

// sharing finds the open store of a file. One that is open for writing serves readers, too.
func sharing(full string, readOnly bool) *store {
	info, err := os.Stat(full) //nolint:gosec // the caller names the file
	for _, s := range registry.stores {
		if s.readOnly && !readOnly {
			continue
		}
		if s.path == full || err == nil && os.SameFile(info, s.info) {
			return s
		}
	}
	return nil
}

// dsn returns the data source name of the file, with the settings of every connection.
func dsn(full string, o Options, query bool) string {
	v := url.Values{}
	v.Set("_txlock", "immediate")
	v.Set("_error_rc", "1")
	for _, pragma := range []string{
		"busy_timeout(" + strconv.FormatInt(o.BusyTimeout.Milliseconds(), 10) + ")",
		"foreign_keys(1)", "temp_store(MEMORY)",
		"synchronous(" + o.Synchronous.pragma() + ")",
	} {
		v.Add("_pragma", pragma)
	}
	if query { // its cache is void after each commit of the writer
		v.Set("_query_only", "1")
		v.Add("_pragma", "cache_size(-"+strconv.Itoa(readerCache)+")")
	} else {
		v.Add("_pragma", "cache_size(-16000)")
		v.Add("_pragma", "wal_autocheckpoint("+strconv.Itoa(checkpointAt)+")")
	}
	v.Set("mode", "rw") // a missing file is not created again: see createFile
	if o.ReadOnly {
		v.Set("mode", "ro")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(full), RawQuery: v.Encode()}
	return u.String()
}

func openStore(ctx context.Context, full string, o Options) (_ *store, err error) {
	s := newStore(full, o)
	var w *conn
	defer func() {
		if err == nil {
			return
		}
		if w != nil && s.writer == nil {
			err = errors.Join(err, w.close())
		}
		err = errors.Join(err, s.close())
	}()
	if w, err = connect(ctx, dsn(full, o, false)); err != nil {
		return nil, explain(err)
	}
	// Nothing is changed and no file is created next to it before the file is known to be ours.
	if err := checkSchema(ctx, w, o.NoMigrate); err != nil {
		return nil, explain(err)
	}
	if s.info, err = os.Stat(full); err != nil { //nolint:gosec // the caller names the file
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	if s.gate, err = openEntrance(full, o.BusyTimeout); err != nil {
		return nil, explainLocks(err)
	}
	if s.here, err = openPresence(full); err != nil {
		return nil, explainLocks(err)
	}
	if err := useLog(ctx, w); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, w, o); err != nil {
		return nil, explain(err)
	}
	s.remember()
	if s.readers, err = newPool(ctx, dsn(full, o, true)); err != nil {
		return nil, err
	}
	file, ok := w.raw.(connection)
	if !ok {
		return nil, errDriver
	}
	s.writer = newWriter(s, w, file)
	if hooks, ok := w.raw.(sqlite.HookRegisterer); ok {
		hooks.RegisterCommitHook(func() int32 {
			if s.writer.commits.Add(1) == logAfter {
				close(s.writer.worn)
			}
			return 0
		})
	}
	if s.writer.foreign.news, err = openNews(full+"-wal", s.writer.queue.Poke); err != nil {
		s.log.Debug("the writer looks for the commits of other processes itself", "err", err)
	}
	go s.writer.loop()
	s.janitor = startJanitor(s)
	return s, nil
}

func newStore(full string, o Options) *store {
	return &store{
		path: full, name: dsn(full, o, o.ReadOnly), readOnly: o.ReadOnly, patience: o.BusyTimeout,
		clock: &clock{fake: o.Clock}, log: o.Logger, hub: relational.NewHub(),
	}
}

// connect opens a connection.
func connect(ctx context.Context, dsn string) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // callers explain it
	}
	return newConn(raw), nil
}

// useLog switches the write-ahead log on.
func useLog(ctx context.Context, c *conn) error {
	mode := ""
	if _, err := c.one(ctx, "PRAGMA journal_mode = WAL", func(r *row) { mode = r.text(0) }); err != nil {
		return explain(err)
	}
	if mode != "wal" {
		return fmt.Errorf("the file cannot use a write-ahead log (journal mode %q); is it on a network file system?", mode)
	}
	return nil
}

// explain explains why SQLite refuses a file, and what to do.
func explain(err error) error {
	switch code(err) & 0xff {
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: the file is not a SQLite database; give another path, or move the file away: %w", provider.ErrNotStore, err)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("the SQLite file is damaged; restore a backup, or take out what can be read with sqlite3's .dump: %w", err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("the file or its directory cannot be written; check their owner and mode and that the disk is mounted for writing, "+
			"or open it with ReadOnly to look only: %w", err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("the disk is full; make room: %w", err)
	}
	return err
}

// prepare brings the schema up to date and ends the leases that a reboot or a dead process left.
func (s *store) prepare(ctx context.Context, c *conn, o Options) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	if !o.NoMigrate {
		if err := migrate(ctx, c, s.clock.wall()); err != nil {
			return err
		}
	}
	// Again, inside the turnstile: another process may have migrated meanwhile.
	if err := checkSchema(ctx, c, true); err != nil {
		return err
	}
	if err := s.recallTime(ctx, c); err != nil {
		return err
	}
	return s.bury(ctx, c)
}
