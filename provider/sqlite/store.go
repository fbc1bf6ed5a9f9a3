package sqlite

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A store is one open file, shared by all handles of this process.
type store struct {
	path     string
	name     string // for connections of the program's transactions
	info     os.FileInfo
	readOnly bool          // nothing but readers is open
	patience time.Duration // Options.BusyTimeout: how long a transaction may wait for the file's lock
	clock    *clock
	log      *slog.Logger
	hub      *relational.Hub
	readers  *pool
	writer   *writer
	janitor  *janitor
	gate     *entrance
	own      own
	lent     atomic.Pointer[origin] // the last call with InTx
	here     *presence
	beside   []companion
	moved    atomic.Pointer[error] // a path names another file than the one that is open
	handles  int                   // guarded by registry.mu
}

// registry holds the stores that are open, because two writers in one process would
// wait for each other in SQLite's busy handler.
//
//nolint:gochecknoglobals // what files a process has open is global to it
var registry struct {
	mu     sync.Mutex
	stores []*store
}

// Provider is a handle of a SQLite store. It implements [provider.Provider],
// [provider.Notifier] and [provider.Migrator]; all methods may be called concurrently.
type Provider struct {
	calls

	store    *store
	readOnly bool
	door     relational.Door
}

type calls = relational.Calls

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Notifier = (*Provider)(nil)
	_ provider.Migrator = (*Provider)(nil)
)

// Close implements [provider.Provider]. The last handle of a file closes it.
func (p *Provider) Close() error {
	if first := p.door.Close(); !first {
		return nil
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	s := p.store
	s.handles--
	if s.handles > 0 {
		return nil
	}
	for i, other := range registry.stores {
		if other == s {
			registry.stores = append(registry.stores[:i], registry.stores[i+1:]...)
			break
		}
	}
	return failed("close", s.close(), provider.OutcomeHappened)
}

// Notify implements [provider.Notifier]: it tells of what this process commits, and of leased tasks of this process that
// another one has stopped.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) { return p.store.hub.Notify(fn) }

// close stops the goroutines and closes the files. Readers close first, so that the
// writer's connection is the last one and folds the log into the file.
func (s *store) close() error {
	errs := []error{s.own.close()}
	if s.janitor != nil {
		s.janitor.stop()
	}
	if s.writer != nil {
		s.writer.stop()
		errs = append(errs, s.writer.news.close())
	}
	if s.readers != nil {
		errs = append(errs, s.readers.close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.conn.close())
	}
	if s.gate != nil {
		s.gate.close()
	}
	if s.here != nil {
		s.here.close()
	}
	return errors.Join(errs...)
}
