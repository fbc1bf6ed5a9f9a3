package failure

import (
	"errors"

	"github.com/perdure/perdure/provider"
)

const codeTimeout = "timeout"

// The errors of the engine. Some mean the same as errors of the storage, and are the same values.
var (
	// ErrCancelled means that the cancellation of an instance or scope was requested.
	ErrCancelled = errors.New("cancelled")
	// ErrTimeout means that a timeout of the engine has passed.
	ErrTimeout = errors.New("timed out")
	// ErrPoisoned means that work was lost to crashes too often and is set aside.
	ErrPoisoned = errors.New("lost to crashes too often and set aside in the dead letters")
	// ErrWorkerLost means that a worker ended or lost its lease without a result.
	ErrWorkerLost = errors.New("worker was lost before it had a result")
	// ErrTerminated means that an instance was ended from outside.
	ErrTerminated = errors.New("terminated")
	// ErrForked means that an operation belongs to the instance from which this one was forked.
	ErrForked = errors.New("belongs to the instance that this one was forked from")
	// ErrPayload means that a value cannot be encoded or decoded.
	ErrPayload = errors.New("value cannot be encoded or decoded")
	// ErrTooLarge means that a limit on size was crossed.
	ErrTooLarge = provider.ErrTooLarge
	// ErrHistoryFull means that an execution has no room for more events.
	ErrHistoryFull = errors.New("history is full: continue as new")
	// ErrExists means that an instance ID is in use.
	ErrExists = provider.ErrExists
	// ErrPanic means that an activity panicked.
	ErrPanic = errors.New("activity panicked")
	// ErrNotRegistered means that a name is not known to the registry.
	ErrNotRegistered = errors.New("not registered")
	// ErrInvalid means that an argument, a name or an option is not allowed.
	ErrInvalid = provider.ErrInvalid
	// ErrNotFound means that there is no such instance.
	ErrNotFound = provider.ErrNotFound
	// ErrEnded means that an instance has ended.
	ErrEnded = provider.ErrEnded
	// ErrInboxFull means that too many messages wait for an instance.
	ErrInboxFull = provider.ErrInboxFull
	// ErrOutcomeUnknown means that a request may have been stored.
	ErrOutcomeUnknown = errors.New("it may have been stored all the same")
)

// Errors of a node, which no history holds.
var (
	// ErrLeaked means that user code did not end in time. The error names the code.
	ErrLeaked = errors.New("user code is still running")
	// ErrTooManyLeaks means that more instances than a node's limit have leaked code.
	ErrTooManyLeaks = errors.New("too many leaked goroutines")
)

// sentinel is how an error of the engine is stored. Code and message are part of the stored format; err may have another text.
type sentinel struct {
	err           error
	code, message string
	final         bool // retrying cannot help
}

// shared reports whether the error is one of package provider or client, too. Earlier releases stored those only under a name that
// they were registered with.
func (s *sentinel) shared() bool {
	switch s.err {
	case ErrTooLarge, ErrExists, ErrInvalid, ErrNotFound, ErrEnded, ErrInboxFull, ErrOutcomeUnknown: //nolint:errorlint // the value itself
		return true
	default:
		return false
	}
}

// engine has all errors of the engine.
//
//nolint:gochecknoglobals // constant table
var engine = []sentinel{
	{ErrCancelled, "cancelled", "cancelled", false},
	{ErrTimeout, codeTimeout, "timed out", false},
	{ErrPoisoned, "poisoned", "lost to crashes too often and set aside in the dead letters", true},
	{ErrWorkerLost, "worker-lost", "worker was lost before it had a result", false},
	{ErrTerminated, "terminated", "terminated", false},
	{ErrForked, "forked", "belongs to the instance that this one was forked from", true},
	{ErrPayload, "payload", "value cannot be encoded or decoded", true},
	{ErrTooLarge, "too-large", "too large", true},
	{ErrHistoryFull, "history-full", "history is full: continue as new", true},
	{ErrExists, "exists", "instance ID is in use", false},
	{ErrPanic, "panic", "activity panicked", false},
	{ErrNotRegistered, "not-registered", "not registered", false},
	{ErrInvalid, "invalid", "invalid", true},
	{ErrNotFound, "not-found", "not found", false},
	{ErrEnded, "ended", "instance has ended", false},
	{ErrInboxFull, "inbox-full", "inbox full", false},
	{ErrOutcomeUnknown, "outcome-unknown", "it may have been stored all the same", false},
}

// sentinelOf returns how err itself is stored if it is an error of the engine; nil if it is not.
func sentinelOf(err error) *sentinel {
	for i := range engine {
		if engine[i].err == err { //nolint:errorlint // the value itself
			return &engine[i]
		}
	}
	return nil
}

// Code returns the stored code of err itself if it is an error of the engine, or says so with a method Is, and "" if it is not.
func Code(err error) string {
	is, asks := err.(interface{ Is(target error) bool })
	for i := range engine {
		if s := &engine[i]; err == s.err || asks && is.Is(s.err) { //nolint:errorlint // the value itself
			return s.code
		}
	}
	return ""
}

// sentinelBy returns the error of the engine with the code; nil if there is none.
func sentinelBy(code string) *sentinel {
	for i := range engine {
		if engine[i].code == code {
			return &engine[i]
		}
	}
	return nil
}
