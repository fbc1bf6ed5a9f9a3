package memory

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

// A store runs calls one by one, as transactions under one mutex. It knows the time and wakes the calls that wait. It
// does not know what is stored.
type store struct {
	clock Source
	bell  notifier

	mu      sync.Mutex // guards all below, and all other parts
	calls   sync.WaitGroup
	closed  bool
	last    provider.Time // the clock as last read: it never goes back
	changed chan struct{} // closed and replaced by each change; see wait.go
	dirty   bool          // something changed since changed was replaced
	notices []provider.Notice

	sequence int64                // of messages and dead letters, in their order
	counts   provider.StatsResult // only its counters
}

// request is what all requests of the contract have in common.
type request interface{ Validate() error }

// do runs one call that does not block, as one transaction.
func (s *store) do(ctx context.Context, req request, run func(now provider.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return provider.ErrClosed
	}
	s.calls.Add(1)
	defer s.calls.Done()
	err := run(s.now())
	s.unlock()
	return err
}

// now reads the clock; the caller holds the lock.
func (s *store) now() provider.Time {
	s.last = max(s.last, provider.TimeOf(s.clock.Now()))
	return s.last
}

// next gives a number that is higher than all before.
func (s *store) next() int64 {
	s.sequence++
	return s.sequence
}

// write marks that the running call changes the store, which wakes all blocked calls
// when it is over.
func (s *store) write() {
	if !s.dirty {
		s.counts.Commits++
	}
	s.dirty = true
}

// unlock ends a transaction: it wakes those that wait and then passes the notices on.
func (s *store) unlock() {
	if s.dirty {
		close(s.changed)
		s.changed = make(chan struct{})
		s.dirty = false
	}
	notices := s.notices
	s.notices = nil
	s.mu.Unlock()
	s.bell.ring(notices)
}

// Close implements provider.Provider.
func (s *store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.changed)
	}
	s.mu.Unlock()
	s.calls.Wait()
	return nil
}

// notice tells the listeners after the transaction; event 0 concerns the whole execution.
func (s *store) notice(key provider.UUID, execution, event int64) {
	s.notices = append(s.notices, provider.Notice{Key: key, Execution: execution, EventID: event})
}
