package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Cancellation says how a call of an activity or of a child is cancelled: by its scope, by Future.Cancel, or as the loser of a Race. When the
// execution ends, all its activities are told to stop in any case, and its children unless [WithClosePolicy] says otherwise.
type Cancellation int

const (
	// TryCancel tells the activity or child to stop and ends the call at once with ErrCancelled. This is the default.
	TryCancel Cancellation = history.CancelTry
	// WaitForEnd tells the activity to stop and waits: the call ends with the activity's own result or error. One that has not
	// begun ends with ErrCancelled, and so does one that does not return within its node's grace period. A child decides itself how it ends, and
	// there is no limit on how long it takes.
	WaitForEnd Cancellation = history.CancelWait
	// Abandon ends the call at once with ErrCancelled and lets the activity or child continue. An activity counts as pending until the
	// execution ends, a child until its own end.
	Abandon Cancellation = history.CancelAbandon
)

// CancellationOption is an option of a call of an activity or a child. [WithCancellation] makes one.
type CancellationOption interface {
	ActivityOption
	ChildOption
}

// WithCancellation says how the call of an activity or a child is cancelled. It is stored with the call.
func WithCancellation(c Cancellation) CancellationOption {
	return cancellationOption{Cancellation: c, activityFunc: func(call *history.ActivityScheduled) error {
		call.Cancellation = int64(c)
		return c.check()
	}}
}

type cancellationOption struct {
	Cancellation
	activityFunc
}

func (c cancellationOption) applyChild(call *history.ChildStarted) error {
	call.Cancellation = int64(c.Cancellation)
	return c.check()
}

func (c Cancellation) check() error {
	if c < TryCancel || c > Abandon {
		return fmt.Errorf("cancellation is %d: give TryCancel, WaitForEnd or Abandon", c)
	}
	return nil
}

// TimeoutKind returns the limit of an activity that has passed, if err is ErrTimeout for that reason. For other errors
// ok is false, timeouts of scopes and waits included.
func TimeoutKind(err error) (kind activity.TimeoutKind, ok bool) {
	stored, ok := failure.TimeoutKind(err)
	return activity.TimeoutKind(stored), ok
}
