//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"syscall"
)

// A presence shows which processes have the store open. Each holds the lock on one byte of the file -p. The file is empty,
// because bytes past the end can be locked, too. The byte's offset is the process's number. It is chosen at random when the
// store is opened and never used again, so a number whose byte is free belongs to a process that is gone.
type presence struct {
	file    *os.File
	process int64
}

func openPresence(path string) (*presence, error) {
	file, err := openLockFile(path, "-p")
	if err != nil {
		return nil, err
	}
	p := &presence{file: file, process: 1 + rand.Int64N(math.MaxInt64/2)}
	lock := byteLock(p.process, 1)
	if err := control(file, setLock, &lock); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return p, nil
}

// watchPresence is for a process that only reads. It reads the locks and holds none.
func watchPresence(path string) *presence {
	if locksFall {
		return nil // closing the file would drop the lock of a store that this process opens for writing
	}
	file, err := os.Open(path + "-p") //nolint:gosec // the caller names the file
	if err != nil {
		return nil // no process has the store open for writing, or the file may not be read
	}
	return &presence{file: file}
}

// byteLock is a lock on n bytes, 0 for all that follow.
func byteLock(start, n int64) syscall.Flock_t {
	return syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: start, Len: n}
}

func control(file *os.File, cmd int, lock *syscall.Flock_t) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err //nolint:wrapcheck // callers name the file
	}
	failed := raw.Control(func(fd uintptr) { err = syscall.FcntlFlock(fd, cmd, lock) })
	return errors.Join(failed, err)
}

// free reports whether no other process locks any of n bytes. In doubt it returns false, because a live process that is taken
// for dead loses its leases.
func (p *presence) free(start, n int64) bool {
	lock := byteLock(start, n)
	err := control(p.file, getLock, &lock)
	return err == nil && lock.Type == syscall.F_UNLCK
}

// alone reports whether no other process has the store open.
func (p *presence) alone() bool { return p.free(0, 0) }

// others reports whether another process is known to have the store open.
func (p *presence) others() bool { return !p.alone() }

// gone reports whether a process is known to have closed the store, or to be dead.
func (p *presence) gone(process int64) bool {
	return p != nil && process != p.process && p.free(process, 1)
}

func (p *presence) close() { _ = p.file.Close() } // it is empty: there is nothing to lose
