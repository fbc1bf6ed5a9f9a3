package sqlite

import (
	"log/slog"
	"time"
)

// Synchronous says how hard a commit is pushed to the disk.
type Synchronous uint8

// The settings. Full survives power loss; Normal may lose the last commits then but
// never corrupts, and survives kill -9; Off may corrupt the file when the machine dies.
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

// Options tune a store. The zero value is right. When a process opens one file several
// times the options of the first opening hold for all.
type Options struct {
	// Synchronous is Full unless set.
	Synchronous Synchronous
	// Clock replaces the machine's clocks, for tests. It must be safe for concurrent use.
	Clock func() time.Time
	// NoMigrate leaves the schema alone: a missing or older one is an error of Open.
	NoMigrate bool
	// ReadOnly opens a store to look at it: every call that would change it answers ErrReadOnly. The
	// file must exist, and nothing of perdure's is laid beside it, so that a copy, a backup or a disk
	// mounted for reading will do.
	ReadOnly bool
	// BusyTimeout bounds the wait for locks of other processes, and of BeginTx for its turn; 0 means 5 s.
	BusyTimeout time.Duration
	// Logger tells of faults that no caller is told about; nil means slog.Default.
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
