package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// errMoved is answered by all calls while the path names no file, or another one: what is
// written now would be lost with the file that is open. It ends when the file is put back.
var errMoved = errors.New("the database file was removed or replaced while it is open; put it back, " +
	"or restart the processes that use it")

// checkPlace looks whether the path still names the file that is open.
func (s *store) checkPlace() {
	info, err := os.Stat(s.path)
	moved := errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, s.info)
	if s.moved.Swap(moved) == moved {
		return
	}
	if moved {
		s.log.Error("perdure sqlite: all calls are refused", "path", s.path, "error", errMoved)
	} else {
		s.log.Info("perdure sqlite: the database file is back", "path", s.path)
	}
}
