package orchestration

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// WithHeartbeatTimeout bounds the time from the start of an attempt, or its last heartbeat, to the next one. An attempt over it
// fails with ErrTimeout and is retried as the policy says. The next attempt finds the details that this one reported. Use it
// for activities that take long: it finds one that hangs sooner than the start-to-close timeout. A lost node is found by its
// lease, whatever this timeout is. It bounds pending activities that hold their slot, but not parked ones. Zero means no bound.
func WithHeartbeatTimeout(d time.Duration) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		if d < 0 {
			return fmt.Errorf("heartbeat timeout is %v: give more than zero, or 0 for none", d)
		}
		call.HeartbeatTimeout = micros(d)
		return nil
	})
}
