package orchestration

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// WithStartToCloseTimeout bounds one attempt from its start on. An attempt over it fails with ErrTimeout and is retried
// as the policy says. An attempt lasts while its activity is pending or parked, until its token ends it. Leave the
// option out where a person decides, or give as long as that may take. Zero means no bound.
func WithStartToCloseTimeout(d time.Duration) ActivityOption {
	return bound("start-to-close", d, func(call *history.ActivityScheduled) *int64 { return &call.StartToClose })
}

// WithScheduleToStartTimeout bounds how long the activity may wait in its queue until its first attempt begins. If it has not
// begun by then the call ends with ErrTimeout, which no policy retries. Any node ends it, also one that does not serve the
// queue. Zero means no bound: work that no node takes waits, and Runtime.Health shows it.
func WithScheduleToStartTimeout(d time.Duration) ActivityOption {
	return bound("schedule-to-start", d, func(call *history.ActivityScheduled) *int64 { return &call.ScheduleToStart })
}

// WithScheduleToCloseTimeout bounds the whole call: all attempts, their pauses, and the time in the queue. A running attempt is
// cancelled through its context, and leaked if it does not end within the grace period. The call ends with ErrTimeout, which no
// policy retries, or with the failure of the last attempt if the next one would begin too late. It also ends a parked activity.
// Zero means no bound.
func WithScheduleToCloseTimeout(d time.Duration) ActivityOption {
	return bound("schedule-to-close", d, func(call *history.ActivityScheduled) *int64 { return &call.ScheduleToClose })
}

func bound(name string, d time.Duration, of func(*history.ActivityScheduled) *int64) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		if d < 0 {
			return fmt.Errorf("%s timeout is %v: give more than zero, or 0 for none", name, d)
		}
		*of(call) = micros(d)
		return nil
	})
}
