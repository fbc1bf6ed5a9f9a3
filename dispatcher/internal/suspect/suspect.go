// Package suspect runs suspected crashers one at a time: turns and tasks that were lost with their nodes too often.
package suspect

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// lostLimit is how many deliveries in a row must be lost with their nodes before a turn or task is a
// suspect. A suspect may be what kills them.
const lostLimit = 3

// Early is how long after its time a suspect is fetched that was claimed ahead. Then it counts as late, and is not claimed ahead.
const Early = time.Millisecond

const (
	firstDelay    = time.Second      // of a new suspect; it doubles with each further loss
	maxDelay      = time.Minute      // the longest
	maxWait       = 15 * time.Second // the longest for one that finds another running
	settleTime    = time.Second      // how long nothing is fetched after a suspect began
	exclusiveTime = 15 * time.Second // how long it keeps others from running
	forgetAfter   = time.Hour        // how long one is remembered that was not seen again
)

// List lets suspects run one at a time. Each crash costs all leased work a delivery, so that counts up to lostLimit say nothing. The counts
// beyond come from runs without other suspects: one that is fetched at the wrong time is released without a count. A suspect that runs for
// long makes room for the next, which may be what it waits for. The methods may be called from several goroutines at once.
type List struct {
	mu      sync.Mutex
	known   map[provider.TaskRef]*suspicion
	running chan struct{} // of the latest that runs: closed when all have ended, or the next begins; nil: none runs
	count   int           // that run
	began   time.Time     // the latest
}

// suspicion is what this node knows of a suspect that waits.
type suspicion struct {
	lost   int64 // deliveries, when its delay was decided
	passed int   // how often it found another running
	seen   time.Time
}

// NewList returns a list without suspects.
func NewList() *List { return &List{known: make(map[provider.TaskRef]*suspicion)} }

// Turn stands for an instance's turn in a List.
func Turn(key provider.UUID) provider.TaskRef { return provider.TaskRef{Key: key} }

// Is reports whether something that was lost so often must run alone. At the poison limit it does
// not run at all.
func Is(lost, poisonLimit int64) bool { return lost >= lostLimit && lost < poisonLimit }

// Admit admits a suspect, which runs until Done, or returns the delay until it may be fetched again. It delays a suspect
// the first time because of its losses, later because another runs.
func (s *List) Admit(ref provider.TaskRef, lost int64) (delay time.Duration, admitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[ref]
	if k == nil || k.lost != lost {
		s.forget()
		s.known[ref] = &suspicion{lost: lost, seen: time.Now()}
		return backoff(int(lost-lostLimit), maxDelay), false
	}
	if s.running != nil && time.Since(s.began) < exclusiveTime {
		k.passed, k.seen = k.passed+1, time.Now()
		return backoff(k.passed-1, maxWait), false
	}
	delete(s.known, ref)
	if s.running != nil {
		close(s.running)
	}
	s.running, s.began = make(chan struct{}), time.Now()
	s.count++
	return 0, true
}

// backoff doubles the delay with each time, and spreads it so that not all come back at once.
func backoff(times int, longest time.Duration) time.Duration {
	delay := min(firstDelay<<min(times, 20), longest)
	return delay + rand.N(delay/2)
}

// forget drops suspects that another node has dealt with.
func (s *List) forget() {
	for ref, k := range s.known {
		if time.Since(k.seen) > forgetAfter {
			delete(s.known, ref)
		}
	}
}

// Done ends an admitted suspect, which has not killed the node.
func (s *List) Done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count--; s.count == 0 {
		close(s.running)
		s.running = nil
	}
}

// Settling reports whether a suspect has only just begun.
func (s *List) Settling() bool {
	_, wait := s.settling()
	return wait > 0
}

// settling returns for how long at most nothing may be fetched because a suspect has only just begun, and what is closed when it ends.
func (s *List) settling() (running chan struct{}, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return nil, 0
	}
	return s.running, settleTime - time.Since(s.began)
}

// Wait waits while a suspect has only just begun: if it kills the node at once, no other suspect
// may have been fetched meanwhile. It reports false if ctx is finished.
func (s *List) Wait(ctx context.Context) bool {
	running, wait := s.settling()
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-running:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
