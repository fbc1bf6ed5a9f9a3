package activity

// TimeoutKind says which of the limits of an activity has passed.
type TimeoutKind string

// StartToClose is the limit of one attempt, from its start on.
const StartToClose TimeoutKind = "start-to-close"

// TimeoutError is the cause when a limit has passed. It is [ErrTimeout].
type TimeoutError struct{ Kind TimeoutKind }

// Error implements error.
func (e *TimeoutError) Error() string { return "activity: " + string(e.Kind) + " timeout" }

// Is tells that it is [ErrTimeout].
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }
