package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
)

// openTimeout bounds what Open does with the file.
const openTimeout = 30 * time.Second

// Open opens the store in the file path, or creates it. The file may be a database of the
// application's own: all tables of the store begin with perdure_.
func Open(path string) (*Provider, error) { return OpenWith(path, Options{}) }

// OpenWith is Open with options.
//
// It answers an error that is [provider.ErrNotStore] if the file is not a SQLite database or has no
// store and NoMigrate is set, and [provider.ErrNewerSchema] if a newer release wrote it.
func OpenWith(path string, options Options) (*Provider, error) {
	options = options.withDefaults()
	full, err := checkPath(path)
	if err != nil {
		return nil, err
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	s := sharing(full)
	if s == nil {
		ctx, cancel := context.WithTimeout(writerContext(), openTimeout)
		defer cancel()
		if s, err = openStore(ctx, full, options); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		registry.stores = append(registry.stores, s)
	}
	s.handles++
	return &Provider{store: s, closing: make(chan struct{})}, nil
}

// checkPath finds the mistakes that SQLite reports badly, and makes path absolute.
func checkPath(path string) (string, error) {
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
	if target, err := filepath.EvalSymlinks(full); err == nil {
		full = target // so that the lock files lie beside the real file, whatever name it is opened by
	}
	if info, err := os.Stat(full); err == nil && !info.Mode().IsRegular() { //nolint:gosec // the caller names the file
		what := "not a regular file"
		if info.IsDir() {
			what = "a directory; name a file in it"
		}
		return "", fmt.Errorf("open %s: it is %s: %w", path, what, provider.ErrInvalid)
	}
	return full, nil
}

// sharing finds the open store of a file.
func sharing(full string) *store {
	info, err := os.Stat(full) //nolint:gosec // the caller names the file
	for _, s := range registry.stores {
		if s.path == full || err == nil && os.SameFile(info, s.info) {
			return s
		}
	}
	return nil
}

// dsn names the file with the settings of every connection.
func dsn(full string, o Options, query bool) string {
	v := url.Values{}
	v.Set("_txlock", "immediate")
	v.Set("_error_rc", "1")
	for _, pragma := range []string{
		"busy_timeout(" + strconv.FormatInt(o.BusyTimeout.Milliseconds(), 10) + ")",
		"foreign_keys(0)", "temp_store(MEMORY)", "cache_size(-16000)",
		"synchronous(" + o.Synchronous.pragma() + ")",
	} {
		v.Add("_pragma", pragma)
	}
	if query {
		v.Set("_query_only", "1")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(full), RawQuery: v.Encode()}
	return u.String()
}

func openStore(ctx context.Context, full string, o Options) (_ *store, err error) {
	s := &store{
		path: full, clock: &clock{fake: o.Clock}, log: o.Logger, hub: newHub(),
		notify: notifier{fns: make(map[*func(provider.Notice)]struct{})}, owners: owners{set: make(map[string]struct{})},
	}
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
	if s.gate, err = openTurnstile(full, o.BusyTimeout); err != nil {
		return nil, err
	}
	if w, err = connect(ctx, full, o); err != nil {
		return nil, err
	}
	if s.info, err = os.Stat(full); err != nil { //nolint:gosec // the caller names the file
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	if err := s.prepare(ctx, w, o); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(dsn(full, o, true))
	if err != nil {
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	if s.readers, err = newPool(ctx, connector); err != nil {
		return nil, err
	}
	s.writer = newWriter(s, w, s.gate)
	if hooks, ok := w.raw.(sqlite.HookRegisterer); ok {
		hooks.RegisterCommitHook(func() int32 { s.writer.commits.Add(1); return 0 })
	}
	go s.writer.loop()
	s.janitor = startJanitor(s)
	return s, nil
}

// connect opens the writing connection and turns the log on.
func connect(ctx context.Context, full string, o Options) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn(full, o, false))
	if err != nil {
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, explain(err)
	}
	c := newConn(raw)
	mode := ""
	if _, err := c.one(ctx, "PRAGMA journal_mode = WAL", func(r *row) { mode = r.text(0) }); err != nil {
		return nil, errors.Join(explain(err), c.close())
	}
	if mode != "wal" {
		return nil, errors.Join(fmt.Errorf("the file cannot use a write-ahead log (journal mode %q); is it on a network file system?", mode), c.close())
	}
	return c, nil
}

// explain says what a file that SQLite refuses is, and what to do.
func explain(err error) error {
	switch code(err) & 0xff {
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: the file is not a SQLite database; give another path, or move the file away: %w", provider.ErrNotStore, err)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("%w: the SQLite file is damaged; restore a backup, or try sqlite3's .recover: %w", provider.ErrNotStore, err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN:
		return fmt.Errorf("the file or its directory cannot be written; check their owner and mode: %w", err)
	}
	return err
}

// prepare brings the schema up to date and ends what a reboot or a dead process left.
func (s *store) prepare(ctx context.Context, c *conn, o Options) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	if err := checkSchema(ctx, c); err != nil {
		return explain(err)
	}
	if !o.NoMigrate {
		if err := migrate(ctx, c, s.clock.wall()); err != nil {
			return explain(err)
		}
	}
	steps, err := migrations(ctx, c)
	if err != nil {
		return err
	}
	if err := checkApplied(steps); err != nil {
		return err
	}
	return s.bury(ctx, c)
}

func checkApplied(steps []provider.Migration) error {
	for _, step := range steps {
		if !step.Applied {
			return fmt.Errorf("%w: migration %d (%s) is missing; run the migrations, or open without NoMigrate",
				provider.ErrNotStore, step.Version, step.Name)
		}
	}
	return nil
}

const (
	sqlBoot      = `SELECT value FROM perdure_meta WHERE name = 'boot'`
	sqlSetBoot   = `INSERT INTO perdure_meta (name, value) VALUES ('boot', ?) ON CONFLICT DO UPDATE SET value = excluded.value`
	sqlEndNamed  = `UPDATE perdure_lease SET until = 0`
	sqlEndAsks   = `DELETE FROM perdure_ask`
	sqlEndTurns  = `UPDATE perdure_instance SET lease_until = 1 WHERE lease_until > 0`
	sqlEndSticky = `UPDATE perdure_instance SET sticky_until = 0 WHERE sticky_until > 0 AND fetch_at IS NOT NULL`
	sqlEndTasks  = `UPDATE perdure_task SET lease_until = 1 WHERE lease_until > 0`
)

// bury ends leases whose holders cannot live: all of them after a reboot, whose elapsed
// clock began anew, or when no other process has the file open.
func (s *store) bury(ctx context.Context, c *conn) error {
	boot, stored := s.clock.boot(), ""
	if _, err := c.one(ctx, sqlBoot, func(r *row) { stored = r.text(0) }); err != nil {
		return err
	}
	rebooted := boot != stored && boot != ""
	alone := s.gate.alone()
	var work []string
	if rebooted || alone {
		work = append(work, sqlEndTurns, sqlEndSticky, sqlEndTasks, sqlEndAsks)
	}
	if rebooted {
		work = append(work, sqlEndNamed)
	}
	return inTransaction(ctx, c, func() error {
		if rebooted {
			if _, err := c.exec(ctx, sqlSetBoot, boot); err != nil {
				return err
			}
		}
		for _, sql := range work {
			if _, err := c.exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// inTransaction runs fn in a transaction of a connection that is not yet the writer's.
func inTransaction(ctx context.Context, c *conn, fn func() error) error {
	if _, err := c.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		_, err = c.exec(ctx, "COMMIT")
	}
	if err != nil {
		_, e := c.exec(ctx, "ROLLBACK")
		if e != nil && !noTransaction(e) {
			err = errors.Join(err, e)
		}
	}
	return err
}
