package dispatcher

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// slots bounds how many things run at a time. Who waits is served in order.
type slots struct {
	all     *semaphore.Weighted
	free    atomic.Int64
	waiting atomic.Int64 // who waits for one
}

func newSlots(n int) *slots {
	s := &slots{all: semaphore.NewWeighted(int64(n))}
	s.free.Store(int64(n))
	return s
}

// take waits for one slot, or until ctx is finished.
func (s *slots) take(ctx context.Context) error {
	if ctx.Err() == nil && s.tryTake() {
		return nil
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	if err := s.all.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("waiting for a slot: %w", err)
	}
	s.free.Add(-1)
	return nil
}

// tryTake takes a slot if one is free and nobody waits.
func (s *slots) tryTake() bool {
	if !s.all.TryAcquire(1) {
		return false
	}
	s.free.Add(-1)
	return true
}

// takeUpTo waits for one slot and takes further free ones, at most half of what is free, so that
// who else wants slots finds some.
func (s *slots) takeUpTo(ctx context.Context, n int) (int, error) {
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	taken := 1
	for limit := min(n, int(s.free.Load())/2); taken < limit && s.tryTake(); {
		taken++
	}
	return taken, nil
}

func (s *slots) give(n int) {
	if n > 0 {
		s.free.Add(int64(n))
		s.all.Release(int64(n))
	}
}
