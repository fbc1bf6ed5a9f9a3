//go:build unix

package main

import (
	"syscall"
	"testing"
)

// freeze suspends a process and reports whether this platform can do so.
func freeze(t *testing.T, w *workerProcess) bool {
	t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return true
}

func thaw(t *testing.T, w *workerProcess) {
	t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
