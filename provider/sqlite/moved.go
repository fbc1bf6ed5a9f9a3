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

// A companion is a file that SQLite keeps next to the open database.
type companion struct {
	path string
	info os.FileInfo
}

// remember notes which files are open, for checkPlace.
func (s *store) remember() {
	for _, suffix := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(s.path + suffix); err == nil { //nolint:gosec // the path is the program's own
			s.beside = append(s.beside, companion{s.path + suffix, info})
		}
	}
}

// lost returns what is wrong with the places of the open files.
func (s *store) lost() error {
	if elsewhere(s.path, s.info) {
		return errMoved
	}
	for _, c := range s.beside {
		if elsewhere(c.path, c.info) {
			return errLogMoved
		}
	}
	return nil
}

// elsewhere reports whether a path no longer names the file that it named.
func elsewhere(path string, was os.FileInfo) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, was)
}

// checkPlace checks whether the paths still name the open files.
func (s *store) checkPlace() {
	var now *error
	if err := s.lost(); err != nil {
		now = &err
	}
	was := s.moved.Swap(now)
	switch {
	case was == nil && now != nil:
		s.log.Error("perdure sqlite: all calls are refused", "path", s.path, "error", *now)
	case was != nil && now == nil:
		s.log.Info("perdure sqlite: the database file is back", "path", s.path)
	}
}

// misplaced returns what checkPlace found last.
func (s *store) misplaced() error {
	if err := s.moved.Load(); err != nil {
		return *err
	}
	return nil
}
