package orchestrationtest

import (
	"testing"
	"time"
)

// RunWithTimers is Run with the timers of production.
func RunWithTimers(t *testing.T, test func(e *Env)) {
	t.Helper()
	runWith(t, settings{timers: true}, noProgress, test)
}

// RunOnce is Run without the second run of each turn.
func RunOnce(t *testing.T, test func(e *Env)) {
	t.Helper()
	runWith(t, settings{once: true}, noProgress, test)
}

// RunImpatiently is Run with another limit for a test that makes no progress.
func RunImpatiently(t *testing.T, limit time.Duration, test func(e *Env)) {
	t.Helper()
	runWith(t, settings{}, limit, test)
}

// RepeatTurn is what happens in a run when a turn is stored.
func RepeatTurn(e *Env, of Instance, events int64) {
	e.checks.committed(e.ctx, e.nodes.started()[0], of.Key(), 1, events, true)
}

// StoreCalls returns how many calls of the store have begun or ended.
func StoreCalls(e *Env) int64 { return e.store.alarm.calls.Load() }
