package activity

import (
	"time"

	"github.com/perdure/perdure/internal/failure"
)

// RetryAfter says with the error of an attempt when the next one may begin, in place of what the retry policy would say: where
// a service has told when to come again. It holds for this once, and may be shorter or longer than the policy's intervals. Whether there is a
// next attempt remains for the policy to say: its MaxAttempts, MaxElapsed and NonRetryable hold. The answer wraps
// err, is found when it is wrapped itself, and is not seen in what is stored. A nil err stays nil.
func RetryAfter(err error, d time.Duration) error { return failure.RetryAfter(err, d) }
