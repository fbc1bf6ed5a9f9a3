//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// A turnstile lets the writers of all processes through one by one, in order of arrival:
// who stands in the queue (-q) waits for the writer (-w), everyone else for the queue.
// SQLite's own busy handler sleeps and starves. The locks fall with the process.
type turnstile struct {
	queue, writer, presence *os.File
}

func openTurnstile(path string) (*turnstile, error) {
	t := &turnstile{}
	for _, f := range []struct {
		file   **os.File
		suffix string
	}{{&t.queue, "-q"}, {&t.writer, "-w"}, {&t.presence, "-p"}} {
		file, err := os.OpenFile(path+f.suffix, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller names the file
		if err != nil {
			t.close()
			return nil, fmt.Errorf("open lock file: %w", err)
		}
		*f.file = file
	}
	return t, nil
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err //nolint:wrapcheck // callers name the file
		}
	}
}

// enter waits for this process's turn to write.
func (t *turnstile) enter() error {
	if err := flock(t.queue, syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", t.queue.Name(), err)
	}
	err := flock(t.writer, syscall.LOCK_EX)
	if e := flock(t.queue, syscall.LOCK_UN); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", t.writer.Name(), err)
	}
	return nil
}

// leave lets the next writer in. Unlocking an open file cannot fail.
func (t *turnstile) leave() { _ = flock(t.writer, syscall.LOCK_UN) }

// alone tells whether no other process has the store open, and leaves this process
// marked as present. It must be called inside the turnstile: for a moment it gives the
// mark away, which only others inside could see.
func (t *turnstile) alone() bool {
	err := flock(t.presence, syscall.LOCK_EX|syscall.LOCK_NB)
	_ = flock(t.presence, syscall.LOCK_SH)
	return err == nil
}

func (t *turnstile) close() {
	for _, f := range []*os.File{t.queue, t.writer, t.presence} {
		if f != nil {
			_ = f.Close() // an empty lock file has nothing to lose
		}
	}
}
