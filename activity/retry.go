package activity

import (
	"time"

	"github.com/perdure/perdure/internal/failure"
)

// RetryAfter adds to the error of an attempt the delay until the next one, in place of the interval of the retry policy: for a
// service that says when to come again. It holds for this once, and may be shorter or longer than the policy's intervals. The
// policy still decides whether there is a next attempt: its MaxAttempts, MaxElapsed and NonRetryable hold. The result wraps
// err, works when it is wrapped itself, and is stored as err. A nil err stays nil.
func RetryAfter(err error, d time.Duration) error { return failure.RetryAfter(err, d) }
