package failure

import "github.com/perdure/perdure/internal/history"

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

// IsNonRetryable reports whether err, or an error that it wraps, is marked as non-retryable. Some errors of the
// engine are non-retryable, too.
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

// Wraps reports whether err is target or wraps it. Unlike errors.Is it asks no method Is, and errors of user code
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

// IsCancelled reports whether a stored failure is the engine's cancellation, or was caused by it. Methods of a user's
// error do not count.
func IsCancelled(f *history.Failure) bool {
	if kind := sentinelBy(f.Code); kind != nil && kind.err == ErrCancelled { //nolint:errorlint // the value itself
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
	if _, marked := err.(*nonRetryableError); marked { //nolint:errorlint // each error of the tree is looked at by itself
		return true
	}
	if s := sentinelOf(err); s != nil {
		return s.final
	}
	e := own(err)
	return e != nil && e.NonRetryable
}
