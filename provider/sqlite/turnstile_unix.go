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

// A turnstile lets the writers of all processes through one by one, in order of arrival. The process that holds the queue (-q)
// waits for the writer (-w), and all others wait for the queue. SQLite's own busy handler sleeps and starves. The locks are
// dropped when the process dies, but not while it is stopped (a debugger, a frozen container). So no process waits longer than
// patience.
type turnstile struct {
	queue, writer *os.File
	patience      time.Duration

	mu    sync.Mutex
	place *wait // of this process in the queue
}

// A wait waits for the locks on a goroutine of its own, because flock cannot be interrupted. A wait that was given up goes on
// until the locks come, unless a caller that enters before takes it over.
type wait struct {
	done    chan struct{}
	err     error
	givenUp bool // guarded by turnstile.mu
}

var errTurn = errors.New("another process holds the write lock, or waits for it; is it stopped? Try again, or end that process")

func openTurnstile(path string, patience time.Duration) (*turnstile, error) {
	t := &turnstile{patience: patience}
	for _, f := range []struct {
		file   **os.File
		suffix string
	}{{&t.queue, "-q"}, {&t.writer, "-w"}} {
		file, err := openBeside(path, f.suffix)
		if err != nil {
			t.close()
			return nil, err
		}
		*f.file = file
	}
	return t, nil
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

// enter waits for this process's turn to write, or until one of the channels is closed.
func (t *turnstile) enter(quits ...<-chan struct{}) error {
	t.mu.Lock()
	p := t.place
	if p == nil {
		queued, err := t.try()
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			t.mu.Unlock()
			return err
		}
		p = &wait{done: make(chan struct{})}
		t.place = p
		go t.stand(p, queued)
	}
	p.givenUp = false
	t.mu.Unlock()
	err := waitFor(p.done, t.patience, quits)
	if err == nil {
		return p.err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	default:
		p.givenUp = true
		if errors.Is(err, errLeave) {
			return err
		}
		return fmt.Errorf("lock %s, after %v: %w", t.writer.Name(), t.patience, errTurn)
	}
}

// try enters if no other process holds a lock. It reports queued if it holds the queue and another process has the writer.
func (t *turnstile) try() (queued bool, err error) {
	if err := flock(t.queue, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, fmt.Errorf("lock %s: %w", t.queue.Name(), err)
	}
	if err = flock(t.writer, syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return true, err
	}
	return false, t.entered(err)
}

// entered leaves the queue.
func (t *turnstile) entered(err error) error {
	if e := flock(t.queue, syscall.LOCK_UN); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", t.writer.Name(), err)
	}
	return nil
}

// stand waits for the locks and releases them if the wait was given up.
func (t *turnstile) stand(p *wait, queued bool) {
	err := t.line(queued)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place = nil
	if p.givenUp && err == nil {
		t.leave()
	}
	p.err = err
	close(p.done)
}

func (t *turnstile) line(queued bool) error {
	if !queued {
		if err := flock(t.queue, syscall.LOCK_EX); err != nil {
			return fmt.Errorf("lock %s: %w", t.queue.Name(), err)
		}
	}
	return t.entered(flock(t.writer, syscall.LOCK_EX))
}

// leave lets the next writer in. Unlocking an open file cannot fail.
func (t *turnstile) leave() { _ = flock(t.writer, syscall.LOCK_UN) }

func (t *turnstile) close() {
	for _, f := range []*os.File{t.queue, t.writer} {
		if f != nil {
			_ = f.Close() // an empty lock file has nothing to lose
		}
	}
}
