package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// reasonOf returns the kind of a turn's failure.
func reasonOf(err error) string {
	if _, ok := errors.AsType[*replay.NonDeterminismError](err); ok {
		return "nondeterminism"
	}
	if _, ok := errors.AsType[*replay.PanicError](err); ok {
		return "panic"
	}
	if _, ok := errors.AsType[*replay.ForeignCallError](err); ok {
		return "foreign-call"
	}
	if _, ok := errors.AsType[*replay.DeadlockError](err); ok {
		return reasonDeadlock
	}
	if _, ok := errors.AsType[*core.StorageError](err); ok {
		return "corrupt"
	}
	switch {
	case errors.Is(err, history.ErrCorrupt):
		return "corrupt"
	case errors.Is(err, failure.ErrNotRegistered):
		return "not-registered"
	case errors.Is(err, provider.ErrTooLarge), errors.Is(err, provider.ErrInvalid):
		return "refused"
	default:
		return "failed"
	}
}

// maxBlockedMessage limits the stored text of a failed turn, in bytes.
const maxBlockedMessage = 256 << 10

// blocker ends the leases of turns that were not committed.
type blocker struct {
	*core.Node

	reporter reporter
}

// backoff returns the delay after the given number of earlier failures in a row: 1 s, doubling.
func (b blocker) backoff(failures int64) time.Duration {
	return min(time.Second<<min(failures, 20), b.Config.MaxTurnBackoff)
}

// lostTurns returns how many turns in a row, without this one, were lost with their node. Turns that failed and blocked the instance do not
// count.
func lostTurns(inst *provider.Instance) int64 {
	lost := inst.Deliveries - 1
	if inst.Blocked != nil {
		lost -= inst.Blocked.Count
	}
	return lost
}

// poisoned holds an instance whose turns keep killing their nodes, until a person unblocks it.
func (ts *Turns) poisoned(working context.Context, a *actor, r *run) {
	ts.Count.TurnsFailed.Add(1)
	ts.reporter.failed(r, observe.Failed)
	ts.evictor.evict(a)
	inst := &r.turn.Instance
	message := fmt.Sprintf("%d turns in a row ended with the loss of their node", lostTurns(inst))
	ts.Config.Logger.Error("instance is poisoned: held until unblocked", "instance", inst.ID, "orchestration", inst.Name, "err", message)
	ts.blocker.block(working, r, &provider.TurnFailure{Reason: "poisoned", Message: message, Hold: true}, 0)
}

// block ends a turn's lease and stores the reason on the instance.
func (b blocker) block(working context.Context, r *run, f *provider.TurnFailure, failures int64) {
	f.Message = core.Plain(f.Message, maxBlockedMessage)
	if b.release(working, r, provider.TurnRelease{Kind: provider.ReleaseFailed, Failure: f, Delay: b.backoff(failures)}) {
		b.reporter.blocked(&r.turn.Instance, f)
	}
}

// release ends the turn's lease in the given way. It retries until the lease expires. It reports whether the store has taken it.
func (b blocker) release(working context.Context, r *run, item provider.TurnRelease) (taken bool) {
	if r.turn == nil {
		return false
	}
	item.Key, item.Token = r.turn.Instance.Key, r.token
	return b.Store.Release(working, item)
}

// deadlocked blocks the instance of a stuck turn. The third time in a row, it holds the instance until a person unblocks it.
func (b blocker) deadlocked(working context.Context, r *run, why *stuckTurn, stack string) {
	if r.turn == nil {
		return
	}
	failures := int64(0)
	if last := r.turn.Instance.Blocked; last != nil && (last.Reason == reasonDeadlock || last.Reason == reasonLoop) {
		failures = last.Count
	}
	b.block(working, r, &provider.TurnFailure{
		Reason: why.reason, Hold: failures+1 >= deadlockStrikes, Message: why.message + ":\n" + stack,
	}, failures)
}
