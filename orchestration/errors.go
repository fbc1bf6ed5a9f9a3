package orchestration

import (
	"encoding/json"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
)

// Error is an error of user code after it was stored: message, type name, details and causes remain. With errors.Is and
// errors.As, compare errors that were registered with runtime.AddError and runtime.AddErrorType; never compare messages. Code
// may also make an Error, to set these fields itself.
type Error struct {
	mark

	// Type is the name that a sentinel or type was registered with, else the name
	// of the Go type, such as *shop.DeclinedError. It is empty for errors made by the
	// packages errors and fmt.
	Type    string
	Message string
	// Details is the JSON of a registered type.
	Details json.RawMessage
	// NonRetryable stops retry policies.
	NonRetryable bool
	Causes       []error
}

type mark = failure.Mark

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the sentinel or value that e was before it was stored, if it is known, and the causes.
func (e *Error) Unwrap() []error { return failure.Unwrap(&e.mark, e.Causes) }

// As implements the method that errors.As calls.
func (e *Error) As(target any) bool {
	return failure.As(e, failure.Error{
		Type: e.Type, Message: e.Message, Details: e.Details, NonRetryable: e.NonRetryable, Causes: e.Causes, Mark: e.mark,
	}, target)
}

// shown makes the error that users see.
func shown(e *failure.Error) error {
	return &Error{Type: e.Type, Message: e.Message, Details: e.Details, NonRetryable: e.NonRetryable, Causes: e.Causes, mark: e.Mark}
}

// newError returns an Error of a kind, one of the engine's errors, with a message of its own.
func newError(kind error, format string, args ...any) error {
	return shown(failure.Build(kind, format, args...))
}

// Errors is the set of error values and types that keep their identity across the store. A runtime.Registry has one, filled by
// runtime.AddError and runtime.AddErrorType. Clients take it as an option.
type Errors struct{ set }

type set = bind.Errors

// NewErrors returns an empty set.
func NewErrors() *Errors { return &Errors{bind.NewErrors(shown)} }

// The engine's own errors, as orchestration code and clients see them. Compare with
// errors.Is; the message says more. Those that package client has under the same name are the same values.
//
// ErrCancelled and ErrTimeout are outcomes: a call or an instance ended that way. They differ from
// activity.ErrCancelled and activity.ErrTimeout, which tell running code to stop. Code that returns one of those has
// not made its instance cancelled.
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
	// ErrForked: the child belongs to the instance that this one was forked from. See client.Fork.
	ErrForked = failure.ErrForked
	// ErrPanic: an activity panicked.
	ErrPanic = failure.ErrPanic
	// ErrPayload: a value cannot be encoded, or bytes cannot be decoded into the requested type. A client that was
	// given that value returns ErrInvalid, too.
	ErrPayload = failure.ErrPayload
	// ErrTooLarge: a payload or a number of pending activities is over its limit. Retrying cannot mend it.
	ErrTooLarge = failure.ErrTooLarge
	// ErrHistoryFull: the history is too long to continue; continue as new earlier. It is not ErrTooLarge, which leaves
	// room for smaller things.
	ErrHistoryFull = failure.ErrHistoryFull
	// ErrExists: the instance ID is in use, such as one chosen for a child.
	ErrExists = failure.ErrExists
	// ErrNotFound: there is no such instance, or it was deleted.
	ErrNotFound = failure.ErrNotFound
	// ErrEnded: the instance has ended and accepts nothing any more.
	ErrEnded = failure.ErrEnded
	// ErrInboxFull: too many messages wait for the instance.
	ErrInboxFull = failure.ErrInboxFull
	// ErrOutcomeUnknown: the instance was reset after its end, and the reply to what it had started or sent is lost with that end.
	ErrOutcomeUnknown = failure.ErrOutcomeUnknown
	// ErrNotRegistered: a function is not registered under its name on this node.
	ErrNotRegistered = failure.ErrNotRegistered
	// ErrInvalid: an argument, option or name is not allowed, or a context is used after its function returned. Retrying cannot mend it.
	ErrInvalid = failure.ErrInvalid
)

// NonRetryable marks an error of an activity as one that retrying cannot mend. errors.Is
// and errors.As see through it. nil stays nil.
func NonRetryable(err error) error { return failure.NonRetryable(err) }
