package activity

// TimeoutKind is a limit of an activity that has passed.
type TimeoutKind string

// The limits of an activity. After those of an attempt the retry policy decides whether there is another one.
const (
	// StartToClose is the limit of one attempt, from its start on.
	StartToClose TimeoutKind = "start-to-close"
	// NoHeartbeat is the limit of an attempt that gives no sign of life.
	NoHeartbeat TimeoutKind = "heartbeat"
	// ScheduleToStart is the limit until the first attempt begins.
	ScheduleToStart TimeoutKind = "schedule-to-start"
	// ScheduleToClose is the limit of all attempts together.
	ScheduleToClose TimeoutKind = "schedule-to-close"
)

// TimeoutError is the cause when a limit has passed. It is [ErrTimeout].
type TimeoutError struct{ Kind TimeoutKind }

// Error implements error.
func (e *TimeoutError) Error() string { return "activity: " + string(e.Kind) + " timeout" }

// Is reports whether target is [ErrTimeout].
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }
