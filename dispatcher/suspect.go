package dispatcher

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// suspectAfter is how many deliveries in a row must have been lost with their nodes before
// a turn or a task is a suspect: it may be what kills them.
const suspectAfter = 3

const (
	suspectDelay    = time.Second      // of a new suspect; it doubles with each further loss
	maxSuspectDelay = time.Minute      // the longest
	maxSuspectWait  = 15 * time.Second // the longest for one that finds another running
	suspectEarly    = time.Millisecond // how long after its time one that was claimed ahead is fetched: then it counts as late, and is not claimed ahead
	suspectStart    = time.Second      // how long nothing is fetched after a suspect began
	suspectAlone    = 15 * time.Second // how long it keeps others from running
	suspectMemory   = time.Hour        // how long one is remembered that was not seen again
)

// suspects lets turns and tasks that may kill the node run one at a time. Each crash costs
// all that was leased a delivery, so that up to suspectAfter are as good as nothing. The counts beyond come from
// runs without other suspects beside them: who is fetched at the wrong time is given back uncounted.
// One that runs on for long makes room for the next, which may be what it waits for.
type suspects struct {
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

func newSuspects() *suspects { return &suspects{known: make(map[provider.TaskRef]*suspicion)} }

// turnRef stands for an instance's turn among suspects.
func turnRef(key provider.UUID) provider.TaskRef { return provider.TaskRef{Key: key} }

// isSuspect tells whether something that was lost so often must run alone. At the poison limit it does
// not run at all.
func isSuspect(lost, poisonLimit int64) bool { return lost >= suspectAfter && lost < poisonLimit }

// admit lets a suspect run, until done, or says after which delay it may be fetched again: the
// first time because of its losses, later because another runs.
func (s *suspects) admit(ref provider.TaskRef, lost int64) (delay time.Duration, admitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[ref]
	if k == nil || k.lost != lost {
		s.forget()
		s.known[ref] = &suspicion{lost: lost, seen: time.Now()}
		return growing(int(lost-suspectAfter), maxSuspectDelay), false
	}
	if s.running != nil && time.Since(s.began) < suspectAlone {
		k.passed, k.seen = k.passed+1, time.Now()
		return growing(k.passed-1, maxSuspectWait), false
	}
	delete(s.known, ref)
	if s.running != nil {
		close(s.running)
	}
	s.running, s.began = make(chan struct{}), time.Now()
	s.count++
	return 0, true
}

// growing doubles the delay with each time, and spreads it so that not all come back at once.
func growing(times int, longest time.Duration) time.Duration {
	delay := min(suspectDelay<<min(times, 20), longest)
	return delay + rand.N(delay/2)
}

// forget drops suspects that another node has dealt with.
func (s *suspects) forget() {
	for ref, k := range s.known {
		if time.Since(k.seen) > suspectMemory {
			delete(s.known, ref)
		}
	}
}

// done says that a suspect that ran has ended in an orderly way.
func (s *suspects) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count--; s.count == 0 {
		close(s.running)
		s.running = nil
	}
}

// settling answers for how long at most nothing may be fetched because a suspect has only just begun, and what is closed when it ends.
func (s *suspects) settling() (running chan struct{}, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return nil, 0
	}
	return s.running, suspectStart - time.Since(s.began)
}

// calm waits while a suspect has only just begun: if it kills the node at once, no other suspect
// shall have been fetched meanwhile. It answers false if ctx is finished.
func (s *suspects) calm(ctx context.Context) bool {
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
