package provider

import "context"

// HeldUntil is the NotBefore of a held task: the last second of the year 9999. No delay of a task reaches it.
const HeldUntil Time = 253_402_300_799_000_000

// TaskSteerer is implemented by providers whose pending tasks can be changed from outside.
type TaskSteerer interface {
	// SteerTask acts on a pending task without its token: complete, retry, hold, release.
	//
	// The request names what its caller has seen. If another attempt is pending, or the task is in another State, the
	// call returns [ErrConflict]. If the task is not pending, or its execution does not run, the call returns
	// [ErrNotFound]. A refused call changes nothing.
	//
	//   - Complete removes the task and puts Message into the inbox of its instance. The message of a failure is
	//     stored in the same way.
	//   - Retry queues the task without a delay. A queued task that may be fetched already keeps its rank.
	//   - Hold queues the task with NotBefore [HeldUntil]. So no fetch gets it for work, also after Suspend and Resume.
	//     It still ends when it is past its time. It takes no more turns among fairness keys.
	//   - Release queues a held task without a delay. Any other task stays as it is.
	//
	// Complete, Retry and Hold void the token of a leased or parked task: its holder gets ErrLeaseLost at its next
	// renewal or report. Retry and Hold give up its attempt: Attempt rises, Deliveries is 0, and the task has begun. A
	// task whose lease has expired is queued: it keeps its attempt and deliveries, but not its token. If its NotBefore
	// has come, Retry leaves it that and its rank. A task whose cancellation was requested is not held, but retried. The Version of the instance does not change.
	SteerTask(ctx context.Context, req SteerTaskRequest) (SteerTaskResult, error)
}

// SteerTaskAction is what SteerTask does.
type SteerTaskAction uint8

// The actions of SteerTask.
const (
	SteerTaskComplete SteerTaskAction = iota + 1
	SteerTaskRetry
	SteerTaskHold
	SteerTaskRelease
)

// SteerTaskRequest names a task as TaskInfo shows it.
type SteerTaskRequest struct {
	TaskRef
	Attempt int64     // the pending one
	State   TaskState // the current one; 0: any
	Action  SteerTaskAction
	Message NewMessage // Complete
}

// SteerTaskResult has the attempt that is pending after the change, 0 for none.
type SteerTaskResult struct {
	Attempt int64
	Now     Time
}

// Validate checks the request before a provider touches its store.
func (r SteerTaskRequest) Validate() error {
	var c checker
	checkRef(&c, r.TaskRef)
	c.least("Attempt", r.Attempt, 1)
	if c.err == nil && r.State > TaskParked {
		c.failf(ErrInvalid, "State", "is %d: use one of the TaskState constants, or 0 for any", r.State)
	}
	if c.err == nil && (r.Action < SteerTaskComplete || r.Action > SteerTaskRelease) {
		c.failf(ErrInvalid, "Action", "is %d: use one of the SteerTaskAction constants", r.Action)
	}
	c.sub("Message", r.Message.check())
	return c.done("steer task")
}
