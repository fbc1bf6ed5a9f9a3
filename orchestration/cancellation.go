package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Cancellation says what becomes of a call of an activity that is given up: by its scope, by
// Future.Cancel, or as the loser of a Race. When the execution ends, all its activities are told, whatever this says.
type Cancellation int

const (
	// TryCancel tells the activity and ends the call at once with ErrCancelled. This is the default.
	TryCancel Cancellation = history.CancelTry
	// WaitForEnd tells the activity and goes on waiting: the call ends with what the activity makes of it,
	// a result or an error. One that has not begun ends with ErrCancelled, and so does one that does not come back
	// within its node's grace period.
	WaitForEnd Cancellation = history.CancelWait
	// Abandon ends the call at once with ErrCancelled and lets the activity go on. It
	// counts among the pending ones until the execution ends.
	Abandon Cancellation = history.CancelAbandon
)

// WithCancellation says what becomes of the call when it is given up. It is stored with the call.
func WithCancellation(c Cancellation) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		if c < TryCancel || c > Abandon {
			return fmt.Errorf("cancellation is %d: give TryCancel, WaitForEnd or Abandon", c)
		}
		call.Cancellation = int64(c)
		return nil
	})
}

// TimeoutKind answers which limit of an activity has passed, if err is ErrTimeout for that reason;
// ok is false for all other errors, timeouts of scopes and waits included.
func TimeoutKind(err error) (kind activity.TimeoutKind, ok bool) {
	stored, ok := failure.TimeoutKind(err)
	return activity.TimeoutKind(stored), ok
}
