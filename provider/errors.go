package provider

import (
	"errors"
	"fmt"
)

// Sentinels of the contract. Compare with errors.Is.
var (
	// ErrConflict means that the store has changed since the caller read it. Nothing happened.
	ErrConflict = errors.New("conflict: the stored version has changed")
	// ErrLeaseLost means that the token does not hold the lease. Nothing happened. It is not activity.ErrLeaseLost, which user
	// code sees and may return: an error of user code must never pass for one of the store.
	ErrLeaseLost = errors.New("lease lost")
	// ErrInboxNotEmpty means that a closing commit left messages unnamed. Nothing happened.
	ErrInboxNotEmpty = errors.New("inbox not empty: messages wait that the closing turn has not seen")
	// ErrInboxFull means that the receiver has too many waiting messages. Nothing happened.
	ErrInboxFull = errors.New("inbox full")
	// ErrNotFound means that the request names something that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means that an instance ID or key is in use, and then the error is an *ExistsError, or that a waiting call has the
	// AskID. Nothing happened.
	ErrExists = errors.New("already exists")
	// ErrEnded means that the instance has ended. Nothing happened.
	ErrEnded = errors.New("instance has ended")
	// ErrRunning means that the instance has not ended. Nothing happened.
	ErrRunning = errors.New("instance is running")
	// ErrNoAnswer means that a question was not answered in time.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrInvalid means that the request breaks the contract. Nothing happened.
	ErrInvalid = errors.New("invalid request")
	// ErrTooLarge means that the request exceeds a limit of this package. Nothing happened.
	ErrTooLarge = errors.New("too large")
	// ErrClosed means that the provider was closed. Nothing happened.
	ErrClosed = errors.New("provider is closed")
	// ErrNewerSchema means that a newer release wrote the store and this release cannot serve it.
	ErrNewerSchema = errors.New("store has a newer schema")
	// ErrNotStore means that the file or database is not a perdure store.
	ErrNotStore = errors.New("not a perdure store")
	// ErrMoved means that the instance is sealed: it moves to another store, or from there. Nothing happened. It is an ErrNotFound.
	ErrMoved = fmt.Errorf("the instance is sealed, because it moves to another store: %w", ErrNotFound)
	// ErrClockBehind means that the store's time is before that of the store that an instance comes from. Nothing happened.
	ErrClockBehind = errors.New("the store's clock is behind")
	// ErrForeignTx means that the caller's transaction is not on the store's database. Nothing happened.
	ErrForeignTx = errors.New("the transaction is not one on this store's database")
	// ErrReadOnly means that the store was opened for reading only.
	ErrReadOnly = errors.New("the store is open for reading only")
)

// Outcome says what is known about a failed write.
type Outcome uint8

// The outcomes.
const (
	OutcomeNothing  Outcome = iota + 1 // nothing was changed
	OutcomeHappened                    // it was stored nevertheless
	OutcomeUnknown                     // it may have been stored; repeat the same request to find out
)

// String returns "nothing happened", "happened" or "unknown".
func (o Outcome) String() string {
	switch o {
	case OutcomeNothing:
		return "nothing happened"
	case OutcomeHappened:
		return "happened"
	default:
		return "unknown"
	}
}

// Error is a failure of the storage itself, as opposed to a refusal such as ErrConflict.
type Error struct {
	Op        string  // the method, such as "commit turn"
	Outcome   Outcome // what is known about the effect
	Retryable bool    // the same request may succeed later
	Err       error   // the cause
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v (%s)", e.Op, e.Err, e.Outcome) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExistsError names the instance that holds the ID. It is ErrExists.
type ExistsError struct {
	ID     string
	Key    UUID
	Status Status
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("instance %q already exists (status %s)", e.ID, e.Status)
}

// Unwrap returns ErrExists. Unlike a method Is, it is also found of an error that an activity returned.
func (e *ExistsError) Unwrap() error { return ErrExists }

// refusals are the errors of a working storage that has changed nothing.
var refusals = []error{ //nolint:gochecknoglobals // constant table
	ErrConflict, ErrLeaseLost, ErrInboxNotEmpty, ErrInboxFull, ErrNotFound, ErrExists, ErrEnded,
	ErrRunning, ErrNoAnswer, ErrInvalid, ErrTooLarge, ErrClosed, ErrNewerSchema, ErrNotStore, ErrForeignTx,
	ErrClockBehind, ErrReadOnly,
}

// OutcomeOf returns what is known about the effect of a call that returned err. A sentinel
// of this package means that nothing happened, and an *Error has its own Outcome. After any
// other error the outcome is unknown.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeHappened
	}
	if _, ok := errors.AsType[*FuncError](err); ok {
		return OutcomeNothing
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Outcome
	}
	for _, a := range refusals {
		if errors.Is(err, a) {
			return OutcomeNothing
		}
	}
	return OutcomeUnknown
}

// Retryable reports whether repeating the same request may help. It is true for an *Error that
// says so, and for errors that the contract does not know.
func Retryable(err error) bool {
	if _, ok := errors.AsType[*FuncError](err); ok {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Retryable
	}
	return err != nil && OutcomeOf(err) == OutcomeUnknown
}
