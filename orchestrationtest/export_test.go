package orchestrationtest

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/orchestration"
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

// Repeater returns a RepeatTurn for turns of the node that runs now. It may have ended by then.
func Repeater(e *Env) func(of Instance, events int64) {
	by := e.nodes.started()[0]
	return func(of Instance, events int64) { e.checks.committed(e.ctx, by, of.Key(), 1, events, true) }
}

// Running returns how many nodes run.
func Running(e *Env) int { return len(e.nodes.started()) }

// Serves reports whether a release can run an activity.
func Serves(e *Env, activity string) bool {
	return e.nodes.serves(bubble.Name{Queue: orchestration.DefaultQueue, Name: activity})
}

// DrainWhenDead lets no node start or stop, calls begun, waits until a node has died in the middle of a commit, and drains that.
func DrainWhenDead(e *Env, begun func()) error {
	one := e.nodes.started()[0]
	return e.nodes.alone(func() error {
		begun()
		<-one.died
		return e.nodes.drain(e.ctx, one)
	})
}

// RestartWhenDead lets no node start or stop, calls begun, waits until a node has died in the middle of a commit, calls dead, and restarts all.
func RestartWhenDead(e *Env, begun, dead func()) error {
	one := e.nodes.started()[0]
	return e.nodes.alone(func() error {
		begun()
		<-one.died
		dead()
		if err := e.nodes.shutDown(e.ctx, func(*node) bool { return true }); err != nil {
			return err
		}
		return e.nodes.startAgain(e.ctx)
	})
}

// StoreCalls returns how many calls of the store have begun or ended.
func StoreCalls(e *Env) int64 { return e.store.alarm.calls.Load() }
