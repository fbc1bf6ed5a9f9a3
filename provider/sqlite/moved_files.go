package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

var (
	// errMoved is in the errors of all calls while the path names no file, or another one. A write would be lost with the open
	// file. It ends when the file is put back.
	errMoved = errors.New("the database file was removed or replaced while it is open; put it back, " +
		"or restart the processes that use it")
	// errLogMoved is the same for the files that belong to the database. Commits of this process since the last checkpoint may be
	// in the open log alone. SQLite copies them into the database when the last connection closes.
	errLogMoved = errors.New("the database's log (-wal) or its index (-shm) was removed or replaced while the database is open; " +
		"end all processes that use it in an orderly way, which saves the last commits, and start them again")
)

// A sidecar is a file that SQLite keeps next to the open database.
type sidecar struct {
	path string
	info os.FileInfo
}

// noteSidecars notes which files are open, for checkPaths.
func (s *store) noteSidecars() {
	for _, suffix := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(s.path + suffix); err == nil { //nolint:gosec // the path is the program's own
			s.sidecars = append(s.sidecars, sidecar{s.path + suffix, info})
		}
	}
}

// checkFiles returns what is wrong with the paths of the open files.
func (s *store) checkFiles() error {
	if pathChanged(s.path, s.info) {
		return errMoved
	}
	for _, c := range s.sidecars {
		if pathChanged(c.path, c.info) {
			return errLogMoved
		}
	}
	return nil
}

// pathChanged reports whether a path no longer names the file that it named.
func pathChanged(path string, was os.FileInfo) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, was)
}

// checkPaths checks whether the paths still name the open files.
func (s *store) checkPaths() {
	var now *error
	if err := s.checkFiles(); err != nil {
		now = &err
	}
	was := s.pathErr.Swap(now)
	switch {
	case was == nil && now != nil:
		s.log.Error("perdure sqlite: all calls are refused", "path", s.path, "error", *now)
	case was != nil && now == nil:
		s.log.Info("perdure sqlite: the database file is back", "path", s.path)
	}
}

// pathError returns what checkPaths found last.
func (s *store) pathError() error {
	if err := s.pathErr.Load(); err != nil {
		return *err
	}
	return nil
}
