package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/perdure/perdure/provider"
)

// SQLite keeps the log of a file beside its name. Two processes that open one file under two names (a hard link, or a bind mount of
// the file alone) have two logs, and each overwrites what the other has committed. So each process shows, by a lock on the file
// itself, under which name it has the file open.
//
// An identity is that lock. Its byte lies far behind all that SQLite locks, at an offset made of the directory and the name. It is
// a lock of the open file, so it disturbs none of SQLite's, which are those of the process.
type identity struct {
	file  *os.File
	users int // stores of this process, one for reading and one for writing; guarded by registry.mu
}

// Where the locks of identities lie.
const (
	namesFrom = int64(1) << 60
	nameBytes = int64(1) << 60
)

// claimName locks a file under its name. It returns ErrInvalid if another process has it open under another name. Somebody who only
// reads locks nothing, but is refused, too: it would not see the log.
//
// Stores of one process share what they hold, since to close any descriptor of the file would drop SQLite's locks. The caller holds
// registry.mu.
func claimName(full string, readOnly bool) (*identity, error) {
	id, err := held(full)
	if id == nil || err != nil {
		return nil, err
	}
	id.users++
	if err := id.claim(full, readOnly); err != nil {
		id.close()
		return nil, err
	}
	return id, nil
}

// held returns the identity that another store of this process has of the file, or a new one. It returns none for a file that may not
// be read: SQLite explains that.
func held(full string) (*identity, error) {
	info, err := os.Stat(full) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	for _, s := range registry.stores {
		if s.named != nil && os.SameFile(s.info, info) {
			return s.named, nil
		}
	}
	file, err := os.Open(full) //nolint:gosec // the caller names the file
	if errors.Is(err, os.ErrPermission) {
		return nil, nil //nolint:nilnil // as said
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	return &identity{file: file}, nil
}

func (id *identity) claim(full string, readOnly bool) error {
	own, err := nameOffset(full)
	if err != nil {
		return err
	}
	if !readOnly {
		lock := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart, Start: own, Len: 1}
		if err := control(id.file, setLock, &lock); err != nil {
			return fmt.Errorf("lock %s: %w", full, err)
		}
	}
	// The own lock comes first: of two that open at once at least one sees the other.
	for _, part := range [][2]int64{{namesFrom, own - namesFrom}, {own + 1, namesFrom + nameBytes - own - 1}} {
		if part[1] == 0 {
			continue
		}
		lock := byteLock(part[0], part[1])
		if err := control(id.file, getLock, &lock); err != nil {
			return fmt.Errorf("lock %s: %w", full, err)
		}
		if lock.Type != syscall.F_UNLCK {
			return fmt.Errorf("another process has this file open as %s, and the log of SQLite belongs to a name: what one commits under its name, "+
				"the other overwrites: open it by that name, or, in containers, mount the directory and never the file: %w",
				otherName(id.file, full), provider.ErrInvalid)
		}
	}
	return nil
}

// nameOffset returns the byte of a name: of its directory, which may be mounted elsewhere, and of the last part of the path.
func nameOffset(full string) (int64, error) {
	info, err := os.Stat(filepath.Dir(full))
	if err != nil {
		return 0, err //nolint:wrapcheck // it names the directory
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%d %d %s", sys.Dev, sys.Ino, filepath.Base(full)) // never fails
	return namesFrom + int64(sum.Sum64()%uint64(nameBytes)), nil               //nolint:gosec // below names
}

// otherName returns the name under which another process has the file open, as far as the system shows it.
func otherName(file *os.File, full string) string {
	own, err := file.Stat()
	if err != nil {
		return "another name"
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target == full || !filepath.IsAbs(target) {
			continue
		}
		if info, err := os.Stat(link); err == nil && os.SameFile(info, own) {
			return target + " (process " + strings.Split(link, "/")[2] + ")"
		}
	}
	return "another name, perhaps in a container"
}

func (id *identity) close() {
	if id == nil {
		return
	}
	if id.users--; id.users <= 0 {
		_ = id.file.Close() // it was only locked
	}
}

// ownMount reports whether a file is a mount point of its own.
func ownMount(full string) bool {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	return mountsFile(file, full)
}

// mountsFile reports whether a list of mounts has a path. The format is that of proc(5): the fifth field is the mount point, with
// spaces and the like as octal escapes.
func mountsFile(list io.Reader, full string) bool {
	for lines := bufio.NewScanner(list); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && unescaped(fields[4]) == full {
			return true
		}
	}
	return false
}

// unescaped resolves escapes such as \040.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// links returns how many names a file has.
func links(info os.FileInfo) uint64 {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(sys.Nlink) //nolint:unconvert // other processors have other sizes
	}
	return 1
}
