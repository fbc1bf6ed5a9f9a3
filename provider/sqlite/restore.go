package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

// Restored says what Restore did.
type Restored struct {
	Bytes    int64  // of the new file
	Replaced string // where the file is now that was at the path before; "" if there was none
}

// Restore puts a copy of the store in the file backup at path, where no process may have a store open. The backup is not changed. It
// is read completely and checked, and the new file is durable when the call returns. The context bounds the call.
//
// If there is a file at path, or a log of one, Restore returns [provider.ErrInvalid], unless replace is set. Then it renames them first:
// the file gets the ending ".replaced-" and the time. A file that another process has open is refused, where the system has byte locks,
// which Windows has not: there, nobody can rename it. Restore fails without an effect, except that a call which was killed may have
// renamed the old file already. A repeated call then completes it.
//
// The new file has the owner and mode of the replaced one, else those of the backup without rights of other users.
//
// The other errors are those of [OpenWith] with ReadOnly for the backup.
func Restore(ctx context.Context, backup, path string, replace bool) (r Restored, err error) {
	defer func() {
		if err != nil && isAnswer(err) {
			err = fmt.Errorf("%s: %w", strings.TrimSpace("restore "+path), err)
		}
		err = failed("restore", err, provider.OutcomeNothing)
	}()
	full, err := restorable(backup, path)
	if err != nil {
		return r, err
	}
	old, err := existingFiles(full)
	if err != nil {
		return r, err
	}
	if len(old) > 0 && !replace {
		return r, fmt.Errorf("%s exists: %w: name a file that does not exist, or replace it", filepath.Base(old[0]), provider.ErrInvalid)
	}
	part := full + ".part"
	if err := remove(part); err != nil { // of a call that was killed
		return r, err
	}
	if err = copyStore(ctx, backup, part); err == nil {
		err = copyOwnerAndMode(part, full)
	}
	if err == nil {
		r, err = install(part, full, old)
	}
	if err != nil {
		return Restored{}, errors.Join(err, remove(part))
	}
	return r, nil
}

// restorable returns the absolute path of the new file, unless it is the backup itself or has no directory.
func restorable(backup, path string) (string, error) {
	if backup == "" || path == "" {
		return "", fmt.Errorf("a path is empty: name the backup and the file that it becomes: %w", provider.ErrInvalid)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	if target, err := filepath.EvalSymlinks(full); err == nil {
		full = target
	}
	if err := checkMount(full); err != nil {
		return "", err
	}
	from, err := os.Stat(backup)
	if err != nil {
		return "", err //nolint:wrapcheck // it names the file
	}
	if to, err := os.Stat(full); err == nil && os.SameFile(from, to) {
		return "", fmt.Errorf("it is the backup itself: name another file: %w", provider.ErrInvalid)
	}
	if dir, err := os.Stat(filepath.Dir(full)); err != nil || !dir.IsDir() {
		return "", fmt.Errorf("the directory %s must exist: %w", filepath.Dir(full), provider.ErrInvalid)
	}
	return full, nil
}

// existingFiles returns the files of a store that are at a path, the database first. SQLite would apply the log of the old one to the new one.
func existingFiles(full string) (list []string, err error) {
	for _, ending := range []string{"", "-wal", "-shm", "-journal"} {
		switch _, err := os.Lstat(full + ending); {
		case err == nil:
			list = append(list, full+ending)
		case !errors.Is(err, os.ErrNotExist):
			return nil, err //nolint:wrapcheck // it names the file
		}
	}
	return list, nil
}

// copyOwnerAndMode gives the new file the owner and the mode of the one that it replaces. If there is none it keeps those of the backup, but other
// users may not read it: earlier releases made backups that everybody could read.
func copyOwnerAndMode(part, full string) error {
	file, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	var was os.FileInfo
	if was, err = os.Stat(full); err == nil {
		shareAs(file, was)
	} else if was, err = file.Stat(); err == nil {
		err = file.Chmod(was.Mode().Perm() &^ 0o007)
	}
	return errors.Join(err, file.Close())
}

// copyStore copies a store that is checked to be complete.
func copyStore(ctx context.Context, from, to string) (err error) {
	p, err := OpenWith(from, Options{ReadOnly: true, MountedFile: true}) //nolint:contextcheck // opening has its own timeout
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.Backup(ctx, to); err != nil {
		return err
	}
	c, err := connect(ctx, dsn(to, Options{}.withDefaults(), true))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	found := ""
	if _, err := c.one(ctx, "PRAGMA quick_check(1)", func(r *row) { found = r.text(0) }); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("the backup is damaged: %s: %w", found, provider.ErrNotStore)
	}
	return nil
}

// install renames the files that are there, and gives the copy its name.
func install(part, full string, old []string) (r Restored, err error) {
	if len(old) > 0 {
		registry.mu.Lock() // this process does not open the file meanwhile
		defer registry.mu.Unlock()
		if err := checkUnused(full); err != nil {
			return r, err
		}
		r.Replaced = full + time.Now().UTC().Format(".replaced-20060102T150405.000Z")
		for _, name := range old { // the database first: a log without a database is nothing
			if err := os.Rename(name, r.Replaced+name[len(full):]); err != nil {
				return r, err //nolint:wrapcheck // it names the files
			}
		}
	}
	info, err := os.Stat(part)
	if err != nil {
		return r, err //nolint:wrapcheck // it names the file
	}
	r.Bytes = info.Size()
	return r, finishCopy(part, full)
}

// checkUnused returns an error if a process is known to have the store open.
func checkUnused(full string) error {
	err := fmt.Errorf("it is in use: stop all processes that have it open: %w", provider.ErrInvalid)
	if sharing(full, true) != nil {
		return err
	}
	if _, gone := os.Stat(full); gone != nil {
		return nil // only its log is there
	}
	if err := checkName(full); err != nil {
		return err
	}
	here, failure := openPresence(full)
	if failure != nil {
		return explainLocks(failure)
	}
	defer here.close()
	if here.others() {
		return err
	}
	return nil
}
