package orchestration

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// WithHeartbeatTimeout bounds the time from the start of an attempt, or its last heartbeat, to the next one. An attempt over it
// fails with ErrTimeout and is retried as the policy says; the next one finds the details that this one reported. It is for activities
// that take long: one that hangs is found sooner than by its start-to-close timeout. A node that is lost is found by its
// lease, whatever stands here. Pending activities that hold their slot are bounded, too, parked ones are not. Zero means no bound.
func WithHeartbeatTimeout(d time.Duration) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		if d < 0 {
			return fmt.Errorf("heartbeat timeout is %v: give more than zero, or 0 for none", d)
		}
		call.HeartbeatTimeout = micros(d)
		return nil
	})
}
