// Package flow decides how much a node runs at a time and how fast it begins: slots, pools of activities and rates.
package flow

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Slots bounds how many things run at a time. It serves waiting callers in order. The methods may be called from several goroutines at once.
type Slots struct {
	all     *semaphore.Weighted
	free    atomic.Int64
	waiting atomic.Int64 // callers in Take
}

// NewSlots returns n slots.
func NewSlots(n int) *Slots {
	s := &Slots{all: semaphore.NewWeighted(int64(n))}
	s.free.Store(int64(n))
	return s
}

// Take waits for one slot, or until ctx is finished.
func (s *Slots) Take(ctx context.Context) error {
	if ctx.Err() == nil && s.TryTake() {
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

// TryTake takes a slot if one is free and nobody waits.
func (s *Slots) TryTake() bool {
	if !s.all.TryAcquire(1) {
		return false
	}
	s.free.Add(-1)
	return true
}

// TakeUpTo waits for one slot and takes further free ones. It takes at most n and at most half of the free slots, so that
// other callers find some.
func (s *Slots) TakeUpTo(ctx context.Context, n int) (int, error) {
	if err := s.Take(ctx); err != nil {
		return 0, err
	}
	taken := 1
	for limit := min(n, int(s.free.Load())/2); taken < limit && s.TryTake(); {
		taken++
	}
	return taken, nil
}

// Release gives n slots back.
func (s *Slots) Release(n int) {
	if n > 0 {
		s.free.Add(int64(n))
		s.all.Release(int64(n))
	}
}

// Free returns how many slots are free.
func (s *Slots) Free() int { return int(s.free.Load()) }

// Wanted reports whether somebody waits for a slot.
func (s *Slots) Wanted() bool { return s.waiting.Load() > 0 }
