package sqlite

import (
	"errors"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Provider is a handle of a SQLite store. It implements [provider.Provider], [provider.Notifier], [provider.Inspector],
// [provider.Transactor] and [provider.Migrator]. All methods may be called concurrently. Each of its parts has the calls that
// concern it.
type Provider struct {
	calls       // Create, Send, CommitTurn, ReleaseTurns, ReportTasks, RenewTasks, Steer, SteerTask, Reset, Fork, Seal, Import
	shared      // Get, ReadHistory, Inspect, DeadLetters, Lease, Record, Export, Seals
	*handle     // no call of the contract
	*reader     // List, Count, Stats
	*fetches    // FetchTurns, FetchTasks, FetchAsks
	*asks       // Ask, Answer
	*cleaner    // Delete, Prune, Compact
	*transactor // CreateIn, SendIn, CompleteIn, BeginTx
	*migrator   // Migrate, Migrations
	*saver      // Backup
}

type (
	calls  = relational.Calls
	shared = relational.Queries
)

var (
	_ provider.Provider    = (*Provider)(nil)
	_ provider.Notifier    = (*Provider)(nil)
	_ provider.Migrator    = (*Provider)(nil)
	_ provider.Inspector   = (*Provider)(nil)
	_ provider.Transactor  = (*Provider)(nil)
	_ provider.Asker       = (*Provider)(nil)
	_ provider.Lister      = (*Provider)(nil)
	_ provider.Meter       = (*Provider)(nil)
	_ provider.Cleaner     = (*Provider)(nil)
	_ provider.Redriver    = (*Provider)(nil)
	_ provider.Keeper      = (*Provider)(nil)
	_ provider.Featured    = (*Provider)(nil)
	_ provider.Counter     = (*Provider)(nil)
	_ provider.TaskSteerer = (*Provider)(nil)
	_ provider.TaskLister  = (*Provider)(nil)
	_ provider.Opener      = (*Provider)(nil)
	_ provider.Trimmer     = (*Provider)(nil)
	_ provider.Compactor   = (*Provider)(nil)
	_ provider.Mover       = (*Provider)(nil)

	_ provider.FailureGrouper = (*Provider)(nil)
	_ provider.Backuper       = (*Provider)(nil)
)

// newProvider makes a handle of an open store.
func newProvider(s *store, readOnly bool) *Provider {
	h := &handle{store: s, readOnly: readOnly, door: relational.NewDoor()}
	return &Provider{
		calls: calls{Enqueue: h.enqueue}, shared: relational.NewQueries(storage{h}, &h.door, s.hub, h.enqueue, deleteBatch),
		handle: h, reader: &reader{h}, fetches: &fetches{h}, asks: &asks{h}, cleaner: &cleaner{h}, transactor: &transactor{handle: h},
		migrator: &migrator{h}, saver: &saver{h},
	}
}

// Close implements [provider.Provider]. It rolls back the open transactions of the handle's BeginTx. The last handle of a file closes it.
func (p *Provider) Close() error {
	if first := p.door.Close(); !first {
		return nil
	}
	err := p.transactor.txs.close()
	registry.mu.Lock()
	defer registry.mu.Unlock()
	s := p.store
	s.handles--
	if s.handles > 0 {
		return failed("close", err, provider.OutcomeHappened)
	}
	for i, other := range registry.stores {
		if other == s {
			registry.stores = append(registry.stores[:i], registry.stores[i+1:]...)
			break
		}
	}
	return failed("close", errors.Join(err, s.close()), provider.OutcomeHappened)
}

// Notify implements [provider.Notifier]. It reports what this process commits, and leased tasks of this process that another
// one has stopped.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) { return p.store.hub.Notify(fn) }

// Features implements [provider.Featured].
func (p *Provider) Features() provider.Features {
	return provider.Features{FirstTurns: true, Ahead: true, Sticky: true, Retrying: true, FailureGroups: true}
}
