//go:build unix && !linux

package sqlite

import "syscall"

const (
	setLock = syscall.F_SETLK
	getLock = syscall.F_GETLK
)
