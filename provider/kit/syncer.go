package kit

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

// Syncer makes what a store has written durable, with one sync for all calls that wait. While a sync runs, later changes gather for
// the next one. It has no goroutine of its own. It is safe for concurrent use.
type Syncer struct {
	sync func() error

	mu      sync.Mutex
	written int64         // changes so far
	synced  int64         // how many of them are durable
	running chan struct{} // closed when the sync that runs has ended; nil: none runs
	failed  error
}

// NewSyncer returns a syncer. sync makes everything durable that was written before it was called, such as [os.File.Sync]. It is not
// called twice at once.
func NewSyncer(sync func() error) *Syncer { return &Syncer{sync: sync} }

// Wrote notes a change. A store calls it once it has written the change, and before any call sees it.
func (s *Syncer) Wrote() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written++
}

// Wait returns once all changes noted so far are durable, and at once if they are. A call waits before it returns, also if it only
// read or was refused, since what it saw must not be gone after a crash. If a sync has failed, Wait returns a [*provider.Error] of op
// whose outcome is unknown, now and ever after: nobody knows what is durable, and a second sync could succeed wrongly. The call that syncs for all does not
// give up meanwhile.
func (s *Syncer) Wait(ctx context.Context, op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for mine := s.written; s.synced < mine; {
		switch {
		case s.failed != nil:
			return &provider.Error{Op: op, Outcome: provider.OutcomeUnknown, Retryable: true, Err: s.failed}
		case ctx.Err() != nil:
			return ctx.Err()
		case s.running == nil:
			s.runSync()
		default:
			s.awaitSync(ctx, s.running)
		}
	}
	return nil
}

// Failed returns the error of the sync that failed, nil for none. After that a store takes up no call.
func (s *Syncer) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// runSync syncs for all that wait. It is called with the lock, which it gives up meanwhile.
func (s *Syncer) runSync() {
	upTo, running := s.written, make(chan struct{}) // what is written while it runs may not be included
	s.running = running
	s.mu.Unlock()
	err := s.sync()
	s.mu.Lock()
	s.running = nil
	close(running)
	if s.failed = err; err == nil {
		s.synced = upTo
	}
}

// awaitSync waits for the sync of another call. It is called with the lock, which it gives up meanwhile.
func (s *Syncer) awaitSync(ctx context.Context, running <-chan struct{}) {
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-running:
	case <-ctx.Done():
	}
}
