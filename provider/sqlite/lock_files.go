package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// newFileMode is the mode of a new database: only its owner may read it.
const newFileMode = 0o600

// createFile creates an empty database if path names no file. SQLite would leave its mode to the umask, which admits readers.
// It must run before the process has the file open, because closing any descriptor drops POSIX locks.
func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, newFileMode) //nolint:gosec // the caller names the file
	if err != nil {
		return err //nolint:wrapcheck // callers name the file
	}
	return file.Close() //nolint:wrapcheck // callers name the file
}

// openLockFile opens or creates a lock file next to the database, with the owner and the mode of the database. SQLite does the
// same for its own files. So a command that root runs does not lock the service out. A symbolic link is refused.
func openLockFile(path, suffix string) (*os.File, error) {
	info, err := os.Stat(path) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	file, err := os.OpenFile(path+suffix, os.O_RDWR|os.O_CREATE|noFollow, info.Mode().Perm()) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	shareAs(file, info)
	return file, nil
}

// explainLocks explains errors of files that the caller did not name.
func explainLocks(err error) error {
	if file, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		if _, missing := os.Lstat(file.Path); missing == nil {
			return fmt.Errorf("the lock file belongs to another user; give it the owner and mode of the database (chown --reference, "+
				"chmod --reference): %w", err)
		}
	}
	return fmt.Errorf("lock files must be made beside the database; check the directory's owner and mode and that the disk is mounted for "+
		"writing, or open it with ReadOnly to look only: %w", err)
}
