package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perdure/perdure/provider"
)

// A saver copies the store.
type saver struct{ *handle }

// Backup implements [provider.Backuper]. It reads one state of the file in a transaction of a reader. No writer waits for it, but the
// log cannot be shortened meanwhile, so it grows by what is written. The copy has no gaps, and begins with an empty log.
func (sv *saver) Backup(ctx context.Context, path string) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return failed("backup", err, provider.OutcomeNothing)
	}
	if _, err := os.Lstat(full); !errors.Is(err, os.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%s exists: %w: name a new file", path, provider.ErrInvalid)
		}
		return fmt.Errorf("backup: %w", err)
	}
	part := full + ".part"
	if err := remove(part); err != nil { // of a backup that was killed
		return fmt.Errorf("backup: %w", err)
	}
	err = sv.save(ctx, part)
	if err == nil {
		err = finishCopy(part, full)
	}
	if err != nil {
		err = errors.Join(err, remove(part))
	}
	return failed("backup", err, provider.OutcomeNothing)
}

// save writes the copy on a connection of its own, so that other readers have theirs.
func (sv *saver) save(ctx context.Context, to string) (err error) {
	if err := sv.door.Enter(ctx); err != nil {
		return err
	}
	defer sv.door.Leave()
	if err := sv.store.pathError(); err != nil {
		return err
	}
	if err := reserve(to, sv.store.path); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // it ends with the call
		select {
		case <-sv.door.Closing:
			cancel()
		case <-stop:
		}
	}()
	c, err := connect(ctx, sv.store.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if _, err := c.exec(ctx, "PRAGMA query_only = 0"); err != nil { // the copy of a store that is open for reading is written, too
		return err
	}
	_, err = c.exec(ctx, `VACUUM INTO ?`, to)
	return err
}

// reserve creates an empty file for a copy, with the owner and the mode of the original before a byte is in it. SQLite would leave
// its mode to the umask, which admits readers.
func reserve(path, original string) error {
	info, err := os.Stat(original)
	if err != nil {
		return err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, newFileMode)
	if err != nil {
		return err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	shareAs(file, info)
	return file.Close() //nolint:wrapcheck // failed wraps it once, with the method's name
}

// finishCopy makes the copy durable under its name.
func finishCopy(part, full string) error {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := os.Link(part, full); err != nil { // unlike a rename, it replaces no file that has come meanwhile
		return fmt.Errorf("backup: %w", err)
	}
	if err := os.Remove(part); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	dir, err := os.Open(filepath.Dir(full))
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	_ = dir.Sync() // some systems cannot
	if err := dir.Close(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// remove removes a file if it is there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err //nolint:wrapcheck // the caller says what it is about
	}
	return nil
}
