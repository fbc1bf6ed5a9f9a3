package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perdure/perdure/provider"
)

// A nameLock shows by which name this process has the database open. SQLite finds the log by the path, so two names of one file have two
// logs, and each overwrites what the other has committed. All processes with one name share the lock file -p, whatever their paths
// to it are. So each shares the lock on that byte of the database whose offset is the inode number of -p. A lock on another byte in the
// range belongs to a process with another name. SQLite itself locks bytes near 1 GB, and none in the range.
type nameLock struct{ file *os.File }

const (
	namesFrom = 1 << 61
	namesMost = 1 << 60
	// sqliteFrom and sqliteMost are the bytes that SQLite locks.
	sqliteFrom = 1 << 30
	sqliteMost = 512
	// nameKey is the extended attribute that holds the path by which the database was last opened for writing. It serves messages, and
	// finds the log of a dead process. Some file systems have none.
	nameKey = "user.perdure.path"
)

// claimName refuses a file that is in use by another name. Close must follow when SQLite has closed the file.
func claimName(path string, here *presence) (*nameLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	n := &nameLock{file}
	at, err := placeOf(here.file)
	if err == nil {
		lock := byteLock(at, 1)
		lock.Type = syscall.F_RDLCK
		err = control(file, setLock, &lock)
	}
	if err == nil {
		err = n.check(path, at)
	}
	if err == nil {
		err = n.checkOtherLog(path)
	}
	if err != nil {
		n.close()
		return nil, err
	}
	_ = onFile(file, func(fd int) error { return unix.Fsetxattr(fd, nameKey, []byte(path), 0) })
	return n, nil
}

// checkName is for a process that only reads: it would not see the commits in the log of another name.
func checkName(path string) error {
	file, err := os.Open(path) //nolint:gosec // the caller names the file
	if err != nil {
		return nil // SQLite says why
	}
	n := &nameLock{file}
	defer n.close()
	at := int64(namesFrom)                                 // nobody's, if no process has ever opened the file by this name for writing
	if lockFile, err := os.Open(path + "-p"); err == nil { //nolint:gosec // the caller names the file
		at, err = placeOf(lockFile)
		if err = errors.Join(err, lockFile.Close()); err != nil {
			return err
		}
	}
	return errors.Join(n.check(path, at), n.checkOtherLog(path))
}

// placeOf returns the offset of the byte for the name to which the lock file belongs.
func placeOf(lockFile *os.File) (int64, error) {
	info, err := lockFile.Stat()
	if err != nil {
		return 0, err //nolint:wrapcheck // it names the file
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return namesFrom + 1 + int64(stat.Ino%(namesMost-1)), nil
}

// check returns an error if a process has another byte than that at the offset.
func (n *nameLock) check(path string, at int64) error {
	for _, r := range [][2]int64{{namesFrom, at - namesFrom}, {at + 1, namesFrom + namesMost - at - 1}} {
		if r[1] == 0 {
			continue // 0 bytes would mean all that follow
		}
		lock := byteLock(r[0], r[1])
		if err := control(n.file, getLock, &lock); err != nil {
			return fmt.Errorf("lock %s: %w", path, err)
		}
		if lock.Type == syscall.F_UNLCK {
			continue
		}
		switch other := n.last(); other {
		case "":
			return fmt.Errorf("a process has the file open by another name than %s, %w", path, errTwoNames)
		case path:
			return fmt.Errorf("a process has %s open, and its lock files beside it were removed or are hidden by a mount, %w", path, errTwoNames)
		default:
			return fmt.Errorf("a process has the file open by another name: there it is %s, here %s, %w", other, path, errTwoNames)
		}
	}
	return nil
}

// errTwoNames says why a second name is refused, and what to do.
var errTwoNames = fmt.Errorf("and each name has a log of its own, so commits would be lost: %w: use one name in all processes, "+
	"or stop the other one; with containers mount the directory, never the file", provider.ErrInvalid)

// checkOtherLog refuses a file whose last commits are in the log of a process that died with another name.
func (n *nameLock) checkOtherLog(path string) error {
	other := n.last()
	if other == "" || other == path {
		return nil
	}
	info, err := n.file.Stat()
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	there, err := os.Stat(other)
	if err != nil || !os.SameFile(info, there) || sameLockFile(path, other) {
		return nil //nolint:nilerr // the file was moved or copied from there
	}
	if log, err := os.Stat(other + "-wal"); err != nil || log.Size() == 0 {
		return nil //nolint:nilerr // it was closed in an orderly way
	}
	return fmt.Errorf("the last commits are in %s-wal, which belongs to the file's other name; here it is %s: %w: "+
		"open it as %s, or close that process in an orderly way first", other, path, provider.ErrInvalid, other)
}

// sameLockFile reports whether two paths lead to one directory.
func sameLockFile(path, other string) bool {
	here, err := os.Stat(path + "-p") //nolint:gosec // the path is the caller's
	if err != nil {
		return false
	}
	there, err := os.Stat(other + "-p")
	return err == nil && os.SameFile(here, there)
}

// last returns the path by which the file was opened last, or "" if that is not known.
func (n *nameLock) last() (path string) {
	_ = onFile(n.file, func(fd int) error {
		text := make([]byte, unix.PathMax)
		size, err := unix.Fgetxattr(fd, nameKey, text)
		if err == nil {
			path = string(text[:size])
		}
		return err //nolint:wrapcheck // it is ignored
	})
	return path
}

func onFile(file *os.File, fn func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err //nolint:wrapcheck // callers name the file
	}
	failed := raw.Control(func(fd uintptr) { err = fn(int(fd)) })
	return errors.Join(failed, err)
}

// close releases the name. It closes the file unless this process has locks on it, as with a connection of the program, because
// closing would drop them. Then closeKept closes it later. The caller holds registry.mu.
func (n *nameLock) close() {
	lock := byteLock(namesFrom, namesMost)
	lock.Type = syscall.F_UNLCK
	_ = control(n.file, setLock, &lock)
	registry.kept = append(registry.kept, n.file)
	closeKept()
}

// closeKept closes the files on which this process has no locks any more. The caller holds registry.mu.
func closeKept() {
	kept := registry.kept[:0]
	for _, file := range registry.kept {
		if locksOf(file) {
			kept = append(kept, file)
		} else {
			_ = file.Close() // nothing was written
		}
	}
	clear(registry.kept[len(kept):])
	registry.kept = kept
}

// locksOf reports whether this process has locks of SQLite on a file, or may have.
func locksOf(file *os.File) bool {
	lock := byteLock(sqliteFrom, sqliteMost)
	if err := control(file, getLock, &lock); err == nil && lock.Type == syscall.F_UNLCK {
		return false
	}
	info, err := file.Stat()
	if err != nil {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	list, err := os.Open("/proc/locks")
	if err != nil || !ok {
		return true
	}
	defer list.Close() //nolint:errcheck // it is only read
	return listsLock(list, os.Getpid(), stat.Ino)
}

// listsLock reports whether a process has a lock on an inode, or an unread line may say so.
func listsLock(list io.Reader, process int, inode uint64) bool {
	lines := bufio.NewScanner(list)
	for lines.Scan() { // 1: POSIX  ADVISORY  READ 4321 fe:00:1234 1073741826 1073742335
		f := strings.Fields(lines.Text())
		if len(f) >= 6 && f[1] == "POSIX" && f[4] == strconv.Itoa(process) && strings.HasSuffix(f[5], ":"+strconv.FormatUint(inode, 10)) {
			return true
		}
	}
	return lines.Err() != nil
}
