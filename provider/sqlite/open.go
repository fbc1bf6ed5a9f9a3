package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	sqlite "modernc.org/sqlite"
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
	if s == nil && !options.MountedFile {
		if err := checkMount(full); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
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
	if err = checkName(full); err != nil {
		return nil, err
	}
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
	if s.writeQueue, err = openWriteQueue(full, o.BusyTimeout); err != nil {
		return nil, explainLocks(err)
	}
	if s.presence, err = openPresence(full); err != nil {
		return nil, explainLocks(err)
	}
	if s.name, err = claimName(full, s.presence); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, w, o); err != nil {
		return nil, explain(err)
	}
	s.noteSidecars()
	s.checkLinks()
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
				close(s.writer.needsLogRoom)
			}
			if !s.writer.tx.named {
				s.writer.unnamed.Add(1)
			}
			return 0
		})
	}
	if s.writer.others.logWatcher, err = openLogWatcher(full+"-wal", s.writer.queue.Wake); err != nil {
		s.log.Debug("the writer looks for the commits of other processes itself", "err", err)
	}
	go s.writer.loop()
	s.janitor = startJanitor(s)
	return s, nil
}

// useLog switches the write-ahead log on.
func useLog(ctx context.Context, c *conn) error {
	mode := ""
	if _, err := c.one(ctx, "PRAGMA journal_mode = WAL", func(r *row) { mode = r.text(0) }); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file cannot use a write-ahead log (journal mode %q); is it on a network file system?", mode)
	}
	return nil
}

// prepare brings the schema up to date and ends the leases that a reboot or a dead process left. All of it takes the process's turn:
// even to set the mode of an old file, SQLite takes the write lock, and its busy handler starves beside busy writers.
func (s *store) prepare(ctx context.Context, c *conn, o Options) error {
	if err := s.writeQueue.enter(); err != nil {
		return err
	}
	defer s.writeQueue.leave()
	if err := c.script(ctx, sqlIncremental); err != nil { // of a new file; before its first page is written
		return err
	}
	if err := useLog(ctx, c); err != nil {
		return err
	}
	if !o.NoMigrate {
		if err := migrate(ctx, c, s.clock.wall()); err != nil {
			return err
		}
	}
	// Again, with the file lock held: another process may have migrated meanwhile.
	if err := checkSchema(ctx, c, true); err != nil {
		return err
	}
	if err := s.restoreTime(ctx, c); err != nil {
		return err
	}
	return s.reapLeases(ctx, c)
}
