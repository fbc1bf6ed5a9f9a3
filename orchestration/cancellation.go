package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Cancellation says how a call of an activity is cancelled: by its scope, by Future.Cancel, or as the loser of a Race. When the
// execution ends, all its activities are told to stop in any case.
type Cancellation int

const (
	// TryCancel tells the activity to stop and ends the call at once with ErrCancelled. This is the default.
	TryCancel Cancellation = history.CancelTry
	// WaitForEnd tells the activity to stop and waits: the call ends with the activity's own result or error. One that has not
	// begun ends with ErrCancelled, and so does one that does not return within its node's grace period.
	WaitForEnd Cancellation = history.CancelWait
	// Abandon ends the call at once with ErrCancelled and lets the activity continue. It counts as pending until the
	// execution ends.
	Abandon Cancellation = history.CancelAbandon
)

// WithCancellation says how the call is cancelled. It is stored with the call.
func WithCancellation(c Cancellation) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		if c < TryCancel || c > Abandon {
			return fmt.Errorf("cancellation is %d: give TryCancel, WaitForEnd or Abandon", c)
		}
		call.Cancellation = int64(c)
		return nil
	})
}

// TimeoutKind returns the limit of an activity that has passed, if err is ErrTimeout for that reason. For other errors
// ok is false, timeouts of scopes and waits included.
func TimeoutKind(err error) (kind activity.TimeoutKind, ok bool) {
	stored, ok := failure.TimeoutKind(err)
	return activity.TimeoutKind(stored), ok
}
