package engine

import (
	"math"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// RetryDelay reports whether a policy, nil for none, lets a failed attempt be followed by another one, and after how long. The interval grows
// by the coefficient with each attempt, up to the maximum, plus or minus the jitter. random returns a number in [0, 1).
//
// Sagas make timers of the delay, and their histories have its length. So another result needs a flag.
func RetryDelay(p *history.RetryPolicy, attempt int64, f *history.Failure, random func() float64) (time.Duration, bool) {
	if p == nil || f.NonRetryable || p.MaxAttempts > 0 && attempt >= p.MaxAttempts || excluded(p, f) {
		return 0, false
	}
	interval := float64(p.InitialInterval) * math.Pow(float64(p.Coefficient)/1000, float64(attempt-1))
	interval = min(interval, float64(p.MaxInterval))
	if p.Jitter > 0 {
		// The outer conversion forbids a fused multiply-add, which not every processor has.
		interval *= 1 + float64(float64(p.Jitter)/1000*(2*random()-1))
	}
	// No release writes a policy without an interval. A damaged one must not make a node spin.
	if !(interval > 0) { // true for NaN, too
		interval = float64(time.Second / time.Microsecond)
	}
	return time.Duration(min(interval, float64(MaxDelay/time.Microsecond))) * time.Microsecond, true
}

// excluded reports whether the policy does not retry the type of the failure or of one of its causes.
func excluded(p *history.RetryPolicy, f *history.Failure) bool {
	if slices.ContainsFunc(p.NonRetryable, func(name []byte) bool { return f.Type == string(name) }) {
		return true
	}
	return slices.ContainsFunc(f.Causes, func(cause history.Failure) bool { return excluded(p, &cause) })
}
