package failure

import (
	"errors"

	"github.com/perdure/perdure/internal/history"
)

// nonRetryableError marks the error that it wraps. It has no message and is stored as a mark
// only.
type nonRetryableError struct{ err error }

// Error implements error.
func (n *nonRetryableError) Error() string { return n.err.Error() }

// Unwrap returns the marked error.
func (n *nonRetryableError) Unwrap() error { return n.err }

// NonRetryable marks err so that no retry policy tries again. nil stays nil.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	if _, marked := err.(*nonRetryableError); marked { //nolint:errorlint // the value itself
		return err
	}
	return &nonRetryableError{err}
}

// IsNonRetryable tells whether err, or an error that it wraps, is marked as
// non-retryable or is an error of the engine that trying again cannot mend.
func IsNonRetryable(err error) bool {
	budget := maxVisits
	return anyMarked(err, &budget)
}

func anyMarked(err error, budget *int) bool {
	if err == nil || *budget == 0 {
		return false
	}
	*budget--
	if isMarked(err) {
		return true
	}
	for _, cause := range unwrap(err) {
		if anyMarked(cause, budget) {
			return true
		}
	}
	return false
}

// Wraps tells whether err is target or wraps it. Unlike errors.Is it asks no method Is, and errors of user code
// whose methods panic, or that wrap themselves, do no harm.
func Wraps(err, target error) bool {
	budget := maxVisits
	return anyIs(err, target, &budget)
}

func anyIs(err, target error, budget *int) bool {
	if err == nil || *budget == 0 {
		return false
	}
	*budget--
	if err == target { //nolint:errorlint // each error of the tree is looked at by itself
		return true
	}
	for _, cause := range unwrap(err) {
		if anyIs(cause, target, budget) {
			return true
		}
	}
	return false
}

// IsCancelled tells whether a stored failure is the engine's cancellation, or was caused by
// it. What an error of a user says of itself does not count.
func IsCancelled(f *history.Failure) bool {
	if kind := engine[f.Code]; kind != nil && errors.Is(kind, ErrCancelled) {
		return true
	}
	for i := range f.Causes {
		if IsCancelled(&f.Causes[i]) {
			return true
		}
	}
	return false
}

// isMarked looks at err alone.
func isMarked(err error) bool {
	switch e := err.(type) { //nolint:errorlint // each error of the tree is looked at by itself
	case *nonRetryableError:
		return true
	case *sentinel:
		return e.final
	case *Error:
		return e != nil && e.NonRetryable
	default:
		return false
	}
}

// unwrap returns the causes of err; none if finding them panics, or if err is a nil
// pointer.
func unwrap(err error) (causes []error) {
	if isNilPointer(err) {
		return nil
	}
	defer func() {
		if recover() != nil {
			causes = nil
		}
	}()
	switch e := err.(type) { //nolint:errorlint // each error of the tree is looked at by itself
	case *Error:
		return e.Causes
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return []error{cause}
		}
	}
	return nil
}
