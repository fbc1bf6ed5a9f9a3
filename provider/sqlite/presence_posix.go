//go:build unix && !linux

package sqlite

import "syscall"

const (
	setLock = syscall.F_SETLK
	getLock = syscall.F_GETLK

	// Closing any descriptor of a file drops all locks of the process on it.
	locksFall = true
)
