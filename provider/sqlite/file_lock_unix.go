//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// A fileLock admits the writers of all processes one by one, in order of arrival. The process that holds the queue (-q)
// waits for the writer (-w), and all others wait for the queue. SQLite's own busy handler sleeps and starves. The locks are
// dropped when the process dies, but not while it is stopped (a debugger, a frozen container). So no process waits longer than
// the timeout.
type fileLock struct {
	queue, writer *os.File
	timeout       time.Duration

	mu      sync.Mutex
	pending *lockWait // of this process in the queue
}

// A lockWait waits for the locks on a goroutine of its own, because flock cannot be interrupted. A wait that was given up goes on
// until the locks come, unless a later caller takes it over before.
type lockWait struct {
	done    chan struct{}
	err     error
	givenUp bool // guarded by fileLock.mu
}

var errFileLocked = errors.New("another process holds the write lock, or waits for it; is it stopped? Try again, or end that process")

func openFileLock(path string, timeout time.Duration) (*fileLock, error) {
	l := &fileLock{timeout: timeout}
	for _, f := range []struct {
		file   **os.File
		suffix string
	}{{&l.queue, "-q"}, {&l.writer, "-w"}} {
		file, err := openLockFile(path, f.suffix)
		if err != nil {
			l.close()
			return nil, err
		}
		*f.file = file
	}
	return l, nil
}

// flock keeps the descriptor in use while it waits, so that the number of a closed file cannot come to name another file.
func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err //nolint:wrapcheck // callers name the file
	}
	failed := raw.Control(func(fd uintptr) {
		for {
			if err = syscall.Flock(int(fd), how); !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	})
	if failed != nil {
		return failed //nolint:wrapcheck // callers name the file
	}
	return err //nolint:wrapcheck // callers name the file
}

// lock waits for this process's turn to write, or until one of the channels is closed.
func (l *fileLock) lock(quits ...<-chan struct{}) error {
	l.mu.Lock()
	w := l.pending
	if w == nil {
		queued, err := l.tryLock()
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			l.mu.Unlock()
			return err
		}
		w = &lockWait{done: make(chan struct{})}
		l.pending = w
		go l.waitInBackground(w, queued)
	}
	w.givenUp = false
	l.mu.Unlock()
	err := waitFor(w.done, l.timeout, quits)
	if err == nil {
		return w.err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	default:
		w.givenUp = true
		if errors.Is(err, errWaitEnded) {
			return err
		}
		return fmt.Errorf("lock %s, after %v: %w", l.writer.Name(), l.timeout, errFileLocked)
	}
}

// tryLock takes the lock if no other process holds one of the two files. It reports queued if it holds the queue and another
// process has the writer.
func (l *fileLock) tryLock() (queued bool, err error) {
	if err := flock(l.queue, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, fmt.Errorf("lock %s: %w", l.queue.Name(), err)
	}
	if err = flock(l.writer, syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return true, err
	}
	return false, l.leaveQueue(err)
}

// leaveQueue unlocks the queue.
func (l *fileLock) leaveQueue(err error) error {
	if e := flock(l.queue, syscall.LOCK_UN); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.writer.Name(), err)
	}
	return nil
}

// waitInBackground waits for the locks and releases them if the wait was given up.
func (l *fileLock) waitInBackground(w *lockWait, queued bool) {
	err := l.lockBoth(queued)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = nil
	if w.givenUp && err == nil {
		l.unlock()
	}
	w.err = err
	close(w.done)
}

// lockBoth waits for the queue unless it holds it, and then for the writer.
func (l *fileLock) lockBoth(queued bool) error {
	if !queued {
		if err := flock(l.queue, syscall.LOCK_EX); err != nil {
			return fmt.Errorf("lock %s: %w", l.queue.Name(), err)
		}
	}
	return l.leaveQueue(flock(l.writer, syscall.LOCK_EX))
}

// unlock lets the next writer in. Unlocking an open file cannot fail.
func (l *fileLock) unlock() { _ = flock(l.writer, syscall.LOCK_UN) }

func (l *fileLock) close() {
	for _, f := range []*os.File{l.queue, l.writer} {
		if f != nil {
			_ = f.Close() // an empty lock file has nothing to lose
		}
	}
}
