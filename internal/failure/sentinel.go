package failure

import "fmt"

const codeTimeout = "timeout"

// The errors of the engine. Their codes are part of the stored format.
var (
	// ErrCancelled means that the cancellation of an instance or scope was requested.
	ErrCancelled = newSentinel("cancelled", "cancelled")
	// ErrTimeout means that a time limit given to the engine has passed.
	ErrTimeout = newSentinel(codeTimeout, "timed out")
	// ErrPoisoned means that work was lost to crashes too often and is set aside.
	ErrPoisoned = newFinal("poisoned", "lost to crashes too often and set aside in the dead letters")
	// ErrWorkerLost means that a worker ended or lost its lease without a result.
	ErrWorkerLost = newSentinel("worker-lost", "worker was lost before it had a result")
	// ErrTerminated means that an instance was ended from outside.
	ErrTerminated = newSentinel("terminated", "terminated")
	// ErrPayload means that a value cannot be encoded or decoded.
	ErrPayload = newFinal("payload", "value cannot be encoded or decoded")
	// ErrTooLarge means that a limit on size was crossed.
	ErrTooLarge = newFinal("too-large", "too large")
	// ErrHistoryFull means that an execution has no room for more events.
	ErrHistoryFull = newFinal("history-full", "history is full: continue as new")
	// ErrExists means that the ID of a child is in use.
	ErrExists = newSentinel("exists", "instance ID is in use")
	// ErrPanic means that an activity panicked.
	ErrPanic = newSentinel("panic", "activity panicked")
	// ErrNotRegistered means that a name is not known to the registry.
	ErrNotRegistered = newSentinel("not-registered", "not registered")
	// ErrInvalid means that a name or an option is not allowed.
	ErrInvalid = newFinal("invalid", "invalid")
)

// engine has every sentinel by its code.
//
//nolint:gochecknoglobals // constant table
var engine = byCode(ErrCancelled, ErrTimeout, ErrPoisoned, ErrWorkerLost, ErrTerminated, ErrPayload,
	ErrTooLarge, ErrHistoryFull, ErrExists, ErrPanic, ErrNotRegistered, ErrInvalid)

// sentinel is an error of the engine.
type sentinel struct {
	code, message string
	final         bool // trying again cannot help
}

// Error implements error.
func (s *sentinel) Error() string { return s.message }

func newSentinel(code, message string) error {
	return &sentinel{code: code, message: message}
}

func newFinal(code, message string) error {
	return &sentinel{code: code, message: message, final: true}
}

func byCode(sentinels ...error) map[string]*sentinel {
	table := make(map[string]*sentinel, len(sentinels))
	for _, err := range sentinels {
		if s, ok := err.(*sentinel); ok { //nolint:errorlint // the value itself
			table[s.code] = s
		}
	}
	return table
}

// New returns an error with a message of its own that is kind, one of the engine's
// errors, for errors.Is. Errors given for %w are its causes.
func New(kind error, format string, args ...any) error {
	text := fmt.Errorf(format, args...)
	e := &Error{Message: text.Error(), Causes: unwrap(text)}
	if s, ok := kind.(*sentinel); ok { //nolint:errorlint // the value itself
		e.code, e.stands, e.NonRetryable = s.code, s, s.final
	} else {
		e.Causes = append(e.Causes, kind)
	}
	return e
}
