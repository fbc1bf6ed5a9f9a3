package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	lib "modernc.org/sqlite/lib"
)

// openToRead opens a store with readers only: no writer, no janitor, no lock files.
func openToRead(ctx context.Context, full string, o Options) (_ *store, err error) {
	s := newStore(full, o)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.info, err = os.Stat(full); err != nil { //nolint:gosec // the caller names the file
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	if err := checkName(full); err != nil {
		return nil, err
	}
	name := dsn(full, o, true)
	err = s.openReaders(ctx, name)
	if code(err)&0xff == lib.SQLITE_CANTOPEN {
		// SQLite needs -shm next to the file, and cannot create it on a read-only disk. No process writes there either, but a log
		// must not be ignored.
		if info, e := os.Stat(full + "-wal"); e == nil && info.Size() > 0 { //nolint:gosec // the caller names the file
			return nil, fmt.Errorf("there are commits in %s-wal that cannot be read here; copy both files where they can be written: %w", full, err)
		}
		s.dsn = name + "&immutable=1"
		err = s.openReaders(ctx, s.dsn)
	}
	if err != nil {
		return nil, explain(err)
	}
	s.checkLinks()
	s.presence = watchPresence(full)
	return s, nil
}

func (s *store) openReaders(ctx context.Context, dsn string) (err error) {
	if s.readers, err = newPool(ctx, dsn); err != nil {
		return err
	}
	err = s.readers.with(ctx, func(c *conn) error { return checkSchema(ctx, c, true) })
	if err != nil {
		err = errors.Join(err, s.readers.close())
		s.readers = nil
	}
	return err
}
