//go:build unix

package sqlite

import (
	"os"
	"syscall"
)

// Links returns how many names (hard links) a file has, and 0 if that is not known. A database with several must always be opened by
// the same one, because each name has a log of its own.
func Links(path string) int {
	info, err := os.Stat(path) //nolint:gosec // the caller names the file
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return int(stat.Nlink) //nolint:gosec,unconvert,nolintlint // its type differs between systems; file systems bound it
}
