package activity

import "errors"

// Why the context of a running attempt ends; context.Cause returns one of these. They tell code to stop, and are no outcomes: an attempt
// that obeys ends as the orchestration decided, with orchestration.ErrCancelled or orchestration.ErrTimeout.
var (
	// ErrOrchestrationEnded: the orchestration has ended and the result is of no use.
	ErrOrchestrationEnded = errors.New("activity: its orchestration has ended")
	// ErrOrchestrationMissing: the orchestration was deleted.
	ErrOrchestrationMissing = errors.New("activity: its orchestration is gone")
	// ErrCancelled: the orchestration has cancelled this activity.
	ErrCancelled = errors.New("activity: cancelled by its orchestration")
	// ErrTimeout: one of its limits has passed; the cause is a *[TimeoutError] that names it.
	ErrTimeout = errors.New("activity: timeout")
	// ErrLeaseLost: the lease expired, and the activity may run on another node.
	ErrLeaseLost = errors.New("activity: lease lost")
	// ErrShutdown: this node shuts down; the attempt will be delivered again.
	ErrShutdown = errors.New("activity: node shuts down")
)
