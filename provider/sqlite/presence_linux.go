package sqlite

import "golang.org/x/sys/unix"

// Locks of the open file. Unlike those of the process, they are not dropped when another descriptor of the file is closed.
const (
	setLock = unix.F_OFD_SETLK
	getLock = unix.F_OFD_GETLK

	locksFall = false
)
