package fast

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// A start waits for the code of its first turn, so that no other run of it begins meanwhile. If that takes longer than eagerLimit, later starts of
// the orchestration are stored first and wait for no code, for slowFactor times as long as it took.
const (
	eagerLimit = 5 * time.Millisecond
	slowFactor = 20
)

// SlowStarts keeps starts from waiting for the code of orchestrations whose last first turn took long.
type SlowStarts struct {
	mu    sync.Mutex
	until map[provider.Capability]time.Time
}

// Took notes how long the code of a first turn ran.
func (s *SlowStarts) Took(of provider.Capability, d time.Duration) {
	if d <= eagerLimit {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = make(map[provider.Capability]time.Time)
	}
	s.until[of] = time.Now().Add(slowFactor * d)
}

// Slow reports whether starts of the orchestration are not to wait for its code now.
func (s *SlowStarts) Slow(of provider.Capability) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.until[of]
	if ok && time.Now().After(until) {
		delete(s.until, of)
		return false
	}
	return ok
}
