package runtime

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher"
)

// minAutoHeartbeat is the shortest interval of automatic heartbeats: each renews a lease.
const minAutoHeartbeat = 100 * time.Millisecond

// AutoHeartbeat makes the node heartbeat in place of the activity's code: every d, or every half of its heartbeat
// timeout if that is less. The details that the code reports stay. With each heartbeat the node checks with the store
// that the activity should continue. It learns of a missed cancellation after d at the latest. Off overrides
// Options.Heartbeats.Auto.
//
// It shows that the node lives, not that the code makes progress: a heartbeat timeout then never ends an attempt that
// hangs. Use it for code that cannot call activity.Heartbeat, and bound that code by a start-to-close timeout.
func AutoHeartbeat(d time.Duration) RegisterOption {
	return registerFunc(func(s *activitySettings) error {
		if d != 0 && d != Off && d < minAutoHeartbeat {
			return fmt.Errorf("AutoHeartbeat is %v: give %v or more, or Off (-1) for none", d, minAutoHeartbeat)
		}
		s.beats = d
		return nil
	})
}

// autoHeartbeats returns the intervals of the activities that have one of their own.
func (r *Registry) autoHeartbeats() map[dispatcher.ActivityName]time.Duration {
	own := make(map[dispatcher.ActivityName]time.Duration)
	for key, entry := range r.activities {
		if entry.beats != 0 {
			own[dispatcher.ActivityName{Queue: key.queue, Name: key.name}] = max(entry.beats, 0) // Off: none
		}
	}
	return own
}

// checkAutoHeartbeat refuses an interval that is too short. Off is the default.
func checkAutoHeartbeat(every *time.Duration) error {
	switch {
	case *every == Off:
		*every = 0
	case *every != 0 && *every < minAutoHeartbeat:
		return fmt.Errorf("%w: option Heartbeats.Auto is %v: give %v or more, or 0 for none", ErrInvalid, *every, minAutoHeartbeat)
	}
	return nil
}
