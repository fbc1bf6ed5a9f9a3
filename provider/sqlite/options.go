package sqlite

import (
	"log/slog"
	"time"
)

// Synchronous is how durable a commit is.
type Synchronous uint8

// The settings. Full survives power loss. Normal survives kill -9, and on power loss may lose the last commits but does not
// corrupt the file. Off may corrupt the file when the machine crashes.
const (
	Full Synchronous = iota
	Normal
	Off
)

func (s Synchronous) pragma() string {
	switch s {
	case Normal:
		return "NORMAL"
	case Off:
		return "OFF"
	default:
		return "FULL"
	}
}

// Options tune a store. The zero value is right for most. If a process opens one file several times, the options of the first
// opening apply to all.
type Options struct {
	// Synchronous is Full unless set.
	Synchronous Synchronous
	// Clock replaces the machine's clocks, for tests. It must be safe for concurrent use.
	Clock func() time.Time
	// NoMigrate leaves the schema unchanged. Open then fails for a missing or older one.
	NoMigrate bool
	// ReadOnly opens a store to look at it: every call that would change it returns ErrReadOnly. The file must exist. No lock
	// files are created, so the file may be a copy, a backup or on a read-only disk.
	ReadOnly bool
	// MountedFile admits a file that is a mount point of its own, as docker -v orders.db:/orders.db makes. Its log is beside the mount
	// point and not beside the real file. So the commits since the last checkpoint are lost with the container, and no other container
	// or process of the host may open the file. Mount the directory instead.
	MountedFile bool
	// BusyTimeout bounds the wait for locks of other processes, and of BeginTx for its turn. 0 means 5 s.
	BusyTimeout time.Duration
	// Logger gets faults that no call returns. Nil means slog.Default.
	Logger *slog.Logger
}

const defaultBusyTimeout = 5 * time.Second

func (o Options) withDefaults() Options {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
