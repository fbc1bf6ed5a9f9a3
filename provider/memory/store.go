package memory

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

// A store runs calls one by one, as transactions under one mutex. It reads the clock and wakes waiting calls. It does not know
// what is stored.
type store struct {
	clock     Source
	unbounded func(ctx context.Context) bool // nil: no call is
	notifier  notifier

	mu      sync.Mutex // guards everything below and in the other parts
	calls   sync.WaitGroup
	closed  bool
	last    provider.Time // last reading of the clock, which never goes back
	changed chan struct{} // closed and replaced after each change; see wait.go
	closing chan struct{} // closed by Close
	dirty   bool          // something changed since changed was replaced
	notices []provider.Notice

	sequence int64 // of messages and dead letters, in their order
	counts   provider.Counters
}

// request is the common part of all requests.
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

// next returns a number higher than all before.
func (s *store) next() int64 {
	s.sequence++
	return s.sequence
}

// write marks the running call as one that changes the store. All blocked calls wake up after it.
func (s *store) write() {
	if !s.dirty {
		s.counts.Commits++
	}
	s.dirty = true
}

// unlock ends a transaction. It wakes the waiting calls and then sends the notices.
func (s *store) unlock() {
	if s.dirty {
		close(s.changed)
		s.changed = make(chan struct{})
		s.dirty = false
	}
	notices := s.notices
	s.notices = nil
	s.mu.Unlock()
	s.notifier.notify(notices)
}

// Close implements provider.Provider.
func (s *store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	s.mu.Unlock()
	s.calls.Wait()
	return nil
}

// notice notifies the listeners after the transaction. Event 0 means the whole execution.
func (s *store) notice(key provider.UUID, execution, event int64) {
	s.notices = append(s.notices, provider.Notice{Key: key, Execution: execution, EventID: event})
}
