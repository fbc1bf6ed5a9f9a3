package sqlite

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider/internal/relational"
)

// A store is one open file, shared by all handles of this process.
type store struct {
	path        string
	dsn         string // for connections of the program's transactions
	info        os.FileInfo
	readOnly    bool          // only readers are open
	busyTimeout time.Duration // Options.BusyTimeout: how long a transaction may wait for the file's lock
	clock       *clock
	log         *slog.Logger
	hub         *relational.Hub
	stamps      stampReads
	readers     *pool
	writer      *writer
	janitor     *janitor
	writeQueue  *writeQueue
	lastInTx    atomic.Pointer[origin] // the last call with InTx
	presence    *presence
	name        *nameLock
	sidecars    []sidecar
	pathErr     atomic.Pointer[error] // a path no longer names the open file
	handles     int                   // guarded by registry.mu
}

func newStore(full string, o Options) *store {
	return &store{
		path: full, dsn: dsn(full, o, o.ReadOnly), readOnly: o.ReadOnly, busyTimeout: o.BusyTimeout,
		clock: &clock{fake: o.Clock}, log: o.Logger, hub: relational.NewHub(),
	}
}

// registry holds the open stores, because two writers in one process would wait for each other in SQLite's busy handler.
//
//nolint:gochecknoglobals // the files that a process has open are global to it
var registry struct {
	mu     sync.Mutex
	stores []*store
	kept   []*os.File // see closeKept
}

// close stops the goroutines and closes the files. Readers close first, so that the
// writer's connection is the last one and folds the log into the file.
func (s *store) close() error {
	var errs []error
	if s.janitor != nil {
		s.janitor.stop()
	}
	if s.writer != nil {
		s.writer.stop()
		errs = append(errs, s.writer.others.logWatcher.close())
	}
	if s.readers != nil {
		errs = append(errs, s.readers.close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.conn.close())
	}
	if s.name != nil {
		s.name.close()
	}
	if s.writeQueue != nil {
		s.writeQueue.close()
	}
	if s.presence != nil {
		s.presence.close()
	}
	closeKept() // what the locks of this store have kept open
	return errors.Join(errs...)
}
