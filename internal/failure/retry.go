package failure

import "time"

// retryAfterError delays the attempt that follows the error it wraps. It has no message and is not stored.
type retryAfterError struct {
	err   error
	delay time.Duration
}

// Error implements error.
func (r *retryAfterError) Error() string { return r.err.Error() }

// Unwrap returns the error of the attempt.
func (r *retryAfterError) Unwrap() error { return r.err }

// RetryAfter has the attempt that follows err begin after the delay. nil stays nil.
func RetryAfter(err error, delay time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryAfterError{err, max(delay, 0)}
}

// RetryDelay returns the delay given to RetryAfter, the first in the tree of err; ok is false if there is none.
func RetryDelay(err error) (delay time.Duration, ok bool) {
	budget := maxVisits
	return requestedDelay(err, &budget)
}

func requestedDelay(err error, budget *int) (time.Duration, bool) {
	if err == nil || *budget == 0 {
		return 0, false
	}
	*budget--
	if r, ok := err.(*retryAfterError); ok { //nolint:errorlint // each error of the tree is looked at by itself
		return r.delay, true
	}
	for _, cause := range unwrap(err) {
		if delay, ok := requestedDelay(cause, budget); ok {
			return delay, true
		}
	}
	return 0, false
}
