package orchestration

import "github.com/perdure/perdure/internal/failure"

// Error is an error of user code after it was stored: message, type name, details and
// causes remain. Compare with errors.Is and errors.As what was registered with
// runtime.AddError and runtime.AddErrorType; never compare messages.
type Error = failure.Error

// Errors is the set of error values and types that keep their identity across the store;
// see runtime.AddError.
type Errors = failure.Set

// The engine's own errors, as orchestration code and clients see them. Compare with
// errors.Is; the message says more.
var (
	// ErrCancelled: the instance or the scope was cancelled.
	ErrCancelled = failure.ErrCancelled
	// ErrTimeout: an attempt, a wait or a scope took longer than allowed.
	ErrTimeout = failure.ErrTimeout
	// ErrPoisoned: the activity was lost with its node more often than the poison limit allows.
	ErrPoisoned = failure.ErrPoisoned
	// ErrWorkerLost: the node of an activity called with AtMostOnce was lost before it had a result.
	ErrWorkerLost = failure.ErrWorkerLost
	// ErrTerminated: the instance was terminated from outside.
	ErrTerminated = failure.ErrTerminated
	// ErrPanic: an activity panicked.
	ErrPanic = failure.ErrPanic
	// ErrPayload: a value cannot be encoded, or bytes cannot be decoded into the type asked for.
	ErrPayload = failure.ErrPayload
	// ErrTooLarge: a payload or a number of pending activities is over its limit.
	ErrTooLarge = failure.ErrTooLarge
	// ErrHistoryFull: the history is too long to go on; continue as new earlier.
	ErrHistoryFull = failure.ErrHistoryFull
	// ErrExists: the ID chosen for a child is in use.
	ErrExists = failure.ErrExists
	// ErrNotRegistered: a function is not registered under its name on this node.
	ErrNotRegistered = failure.ErrNotRegistered
	// ErrInvalid: an option or a name is not allowed, or a context is used after its function returned.
	ErrInvalid = failure.ErrInvalid
)

// NonRetryable marks an error of an activity as one that retrying cannot mend. errors.Is
// and errors.As see through it. nil stays nil.
func NonRetryable(err error) error { return failure.NonRetryable(err) }
