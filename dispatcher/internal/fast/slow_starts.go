package fast

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// A start waits for the code of its first turn, so that no second run begins meanwhile. Once two first turns in a row took longer than
// eagerLimit, later starts of the orchestration are stored first, for slowFactor times as long as the second one took, at most maxSlowTime. One
// slow turn says little: a busy machine stops any code for that long, and starts that are stored first make it busier.
const (
	eagerLimit  = 5 * time.Millisecond
	slowFactor  = 20
	maxSlowTime = 10 * time.Second
)

// SlowStarts remembers orchestrations whose last first turns were slow. The zero value is ready to use. The methods may be called from several
// goroutines at once.
type SlowStarts struct {
	mu              sync.Mutex
	byOrchestration map[provider.Capability]slowness
}

// slowness is what is known of an orchestration whose last first turn was slow.
type slowness struct {
	first time.Time // when that turn was over
	until time.Time // until when starts are stored first; zero: they are not
}

// Took notes that the code of a first turn ran from the given moment until now. Turns that ran at the same time as a slow one may have been
// stopped together with it, so they count as one.
func (s *SlowStarts) Took(of provider.Capability, began time.Time) {
	now := time.Now()
	took := now.Sub(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	last, slow := s.byOrchestration[of]
	switch {
	case took <= eagerLimit:
		if last.until.IsZero() {
			delete(s.byOrchestration, of)
		}
		return
	case !slow:
		last.first = now
	case !began.Before(last.first):
		last.until = now.Add(min(slowFactor*took, maxSlowTime))
	}
	if s.byOrchestration == nil {
		s.byOrchestration = make(map[provider.Capability]slowness)
	}
	s.byOrchestration[of] = last
}

// Slow reports whether starts of the orchestration must not wait for its code now.
func (s *SlowStarts) Slow(of provider.Capability) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := s.byOrchestration[of].until
	if until.IsZero() {
		return false
	}
	if time.Now().After(until) {
		delete(s.byOrchestration, of)
		return false
	}
	return true
}
