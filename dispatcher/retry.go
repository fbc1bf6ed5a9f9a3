package dispatcher

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// again reports whether a failed attempt is tried again, and after how long. err, of the activity, may ask for a delay in
// place of the policy's.
func (j *judge) again(a *attempt, f *history.Failure, err error) (time.Duration, bool) {
	delay, again := retryDelay(a.call.Retry, a.number, f)
	if !again {
		return 0, false
	}
	if asked, ok := failure.RetryDelay(err); ok {
		delay = min(asked, maxRetryDelay)
	}
	if left, limited := j.remaining(a); limited && delay >= left {
		return 0, false
	}
	return delay, !elapsed(a.call.Retry, a.scheduled, j.clock.Now(), delay)
}

// elapsed reports whether an attempt that begins after the delay would begin too late.
func elapsed(p *history.RetryPolicy, scheduled, now provider.Time, delay time.Duration) bool {
	return p.MaxElapsed > 0 && int64(now.Add(delay)-scheduled) > p.MaxElapsed
}

// maxRetryDelay is the longest delay that neither overflows nor is refused by a storage.
const maxRetryDelay = math.MaxInt64 / 4000 * time.Microsecond

// retryDelay reports whether a failed attempt is tried again, and after how long: the
// initial interval grows by the coefficient with each attempt up to the longest, give or
// take the jitter.
func retryDelay(p *history.RetryPolicy, attempt int64, f *history.Failure) (time.Duration, bool) {
	if p == nil || f.NonRetryable || p.MaxAttempts > 0 && attempt >= p.MaxAttempts || excluded(p, f) {
		return 0, false
	}
	interval := float64(p.InitialInterval) * math.Pow(float64(p.Coefficient)/1000, float64(attempt-1))
	interval = min(interval, float64(p.MaxInterval))
	if p.Jitter > 0 {
		interval *= 1 + float64(p.Jitter)/1000*(2*rand.Float64()-1)
	}
	// No release writes a policy without an interval: bytes that hold one must not make a node spin.
	if !(interval > 0) { // not a number, too
		interval = float64(time.Second / time.Microsecond)
	}
	return time.Duration(min(interval, float64(maxRetryDelay/time.Microsecond))) * time.Microsecond, true
}

// excluded reports whether the failure or one of its causes has a type that the policy does
// not retry.
func excluded(p *history.RetryPolicy, f *history.Failure) bool {
	if slices.ContainsFunc(p.NonRetryable, func(name []byte) bool { return f.Type == string(name) }) {
		return true
	}
	return slices.ContainsFunc(f.Causes, func(cause history.Failure) bool { return excluded(p, &cause) })
}
