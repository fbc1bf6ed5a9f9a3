package fast

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// A start waits for the code of its first turn, so that no second run begins meanwhile. If that takes longer than eagerLimit, later starts
// of the orchestration are stored first, for slowFactor times as long.
const (
	eagerLimit = 5 * time.Millisecond
	slowFactor = 20
)

// SlowStarts remembers orchestrations whose last first turn was slow.
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

// Slow reports whether starts of the orchestration must not wait for its code now.
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
