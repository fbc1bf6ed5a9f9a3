package provider

import (
	"errors"
	"fmt"
)

// Sentinels of the contract. Compare with errors.Is.
var (
	// ErrConflict: what the caller had seen is no longer what is stored. Nothing happened.
	ErrConflict = errors.New("conflict: the stored version is another one")
	// ErrLeaseLost: the token does not hold the lease. Nothing happened.
	ErrLeaseLost = errors.New("lease lost")
	// ErrInboxNotEmpty: a closing commit left messages unnamed. Nothing happened.
	ErrInboxNotEmpty = errors.New("inbox not empty: messages wait that the closing turn has not seen")
	// ErrInboxFull: the receiver has too many waiting messages. Nothing happened.
	ErrInboxFull = errors.New("inbox full")
	// ErrNotFound: there is no such thing.
	ErrNotFound = errors.New("not found")
	// ErrExists: the ID is in use. Nothing happened. The error is an *ExistsError.
	ErrExists = errors.New("already exists")
	// ErrEnded: the instance has ended. Nothing happened.
	ErrEnded = errors.New("instance has ended")
	// ErrRunning: the instance has not ended. Nothing happened.
	ErrRunning = errors.New("instance is running")
	// ErrNoAnswer: nobody answered a question in time.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrInvalid: the request breaks the contract. Nothing happened.
	ErrInvalid = errors.New("invalid request")
	// ErrTooLarge: something is over a limit of this package. Nothing happened.
	ErrTooLarge = errors.New("too large")
	// ErrClosed: the provider was closed. Nothing happened.
	ErrClosed = errors.New("provider is closed")
	// ErrNewerSchema: the store was written by a newer release that this one cannot serve.
	ErrNewerSchema = errors.New("store has a newer schema")
	// ErrNotStore: the file or database is not a perdure store.
	ErrNotStore = errors.New("not a perdure store")
	// ErrForeignTx: a transaction that the caller began is not one on the store's database. Nothing happened.
	ErrForeignTx = errors.New("the transaction is not one on this store's database")
)

// Outcome says what is known about a failed write.
type Outcome uint8

// The outcomes.
const (
	OutcomeNothing  Outcome = iota + 1 // nothing was changed
	OutcomeHappened                    // it was stored all the same
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

// Error is a failure of the storage itself, as against an answer such as ErrConflict.
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

// ExistsError tells which instance holds the ID. It is ErrExists.
type ExistsError struct {
	ID     string
	Key    UUID
	Status Status
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("instance %q already exists (status %s)", e.ID, e.Status)
}

// Is makes errors.Is(err, ErrExists) true.
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// answers are the errors that mean: the storage works and has changed nothing.
var answers = []error{ //nolint:gochecknoglobals // constant table
	ErrConflict, ErrLeaseLost, ErrInboxNotEmpty, ErrInboxFull, ErrNotFound, ErrExists, ErrEnded,
	ErrRunning, ErrNoAnswer, ErrInvalid, ErrTooLarge, ErrClosed, ErrNewerSchema, ErrNotStore, ErrForeignTx,
}

// OutcomeOf tells what is known about the effect of a call that answered err: an answer
// of the contract means that nothing happened, an *Error says it, all else is unknown.
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
	for _, a := range answers {
		if errors.Is(err, a) {
			return OutcomeNothing
		}
	}
	return OutcomeUnknown
}

// Retryable tells whether repeating the same request may help: true for a storage failure that says so
// and for errors that are no answer of the contract.
func Retryable(err error) bool {
	if _, ok := errors.AsType[*FuncError](err); ok {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Retryable
	}
	return err != nil && OutcomeOf(err) == OutcomeUnknown
}
