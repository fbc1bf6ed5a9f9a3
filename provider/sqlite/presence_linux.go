package sqlite

import "golang.org/x/sys/unix"

// Locks of the open file: unlike those of the process they do not fall when some other
// descriptor of the file is closed.
const (
	setLock = unix.F_OFD_SETLK
	getLock = unix.F_OFD_GETLK

	locksFall = false
)
