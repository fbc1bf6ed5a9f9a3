//go:build unix

package sqlite

import (
	"os"
	"syscall"
)

// noFollow refuses a lock file that is a symbolic link. With one, the directory's owner could make root open, and give away, any file.
const noFollow = syscall.O_NOFOLLOW

// shareAs gives a file the owner and the mode of the database. This process can use the file even if that fails, so errors
// are ignored, as in SQLite. Only root can give a file away. Others can only pass on a group of their own.
func shareAs(file *os.File, database os.FileInfo) {
	info, err := file.Stat()
	if err != nil {
		return
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	want, same := database.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || have.Nlink != 1 {
		return // another name of a file that may not be ours
	}
	if same && (have.Uid != want.Uid || have.Gid != want.Gid) {
		if file.Chown(int(want.Uid), int(want.Gid)) != nil {
			_ = file.Chown(-1, int(want.Gid))
		}
	}
	if info.Mode().Perm() != database.Mode().Perm() {
		_ = file.Chmod(database.Mode().Perm())
	}
}
