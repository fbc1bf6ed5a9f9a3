package replay

import (
	"time"

	"github.com/perdure/perdure/internal/history"
)

// minWithin is the least time for which AtHand lets code wait: only a timer that is an event can be found on replay.
const minWithin = time.Microsecond

// AtHand reports whether a wait for an event within d needs no timer, because one is there. It looks again when the runs have begun
// that go first, as they may take it. d is at least minWithin after that, or as it was.
//
// Releases before that looked once, and waited without a timer if a run took the event. Their histories have none at this place.
func (s *Scope) AtHand(m *Mailbox, d time.Duration) (atHand bool, within time.Duration) {
	x := s.x
	co := x.sched.enter()
	if !m.Ready() {
		return false, d
	}
	x.yieldToFreshRuns(co)
	if m.Ready() {
		return true, d
	}
	d = max(d, minWithin)
	if !x.events.replaying.Load() || s.admit(0, "timer") != nil {
		return false, d
	}
	timer, ok := x.events.peek().(*history.TimerCreated)
	return !ok || timer.Duration != timerMicros(d), d
}
