//go:build unix

package main

import (
	"syscall"
	"testing"
)

// freeze stops a process where it stands, and answers whether that can be done here.
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
