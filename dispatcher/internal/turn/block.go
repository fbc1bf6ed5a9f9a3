package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/storage"
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
	if _, ok := errors.AsType[*replay.WrongGoroutineError](err); ok {
		return "foreign-call"
	}
	if _, ok := errors.AsType[*replay.DeadlockError](err); ok {
		return reasonDeadlock
	}
	if errors.Is(err, history.ErrSealed) {
		return "codec"
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

// backoff returns the delay after the given number of earlier failures in a row: 1 s, doubling.
func (ts *Turns) backoff(failures int64) time.Duration {
	return min(time.Second<<min(failures, 20), ts.Config.MaxTurnBackoff)
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
func (f *fetched) poisoned(working context.Context) {
	f.ts.Count.TurnsFailed.Add(1)
	f.ts.reporter.failed(&f.run, observe.Failed)
	f.ts.evictor.evict(f.a)
	inst := &f.fetch.Instance
	message := fmt.Sprintf("%d turns in a row ended with the loss of their node", lostTurns(inst))
	f.ts.Config.Logger.Error("instance is poisoned: held until unblocked", "instance", inst.ID, "orchestration", inst.Name, "err", message)
	f.block(working, &provider.TurnFailure{Reason: "poisoned", Message: message, Hold: true}, 0)
}

// block ends the turn's lease and stores the reason on the instance.
func (f *fetched) block(working context.Context, why *provider.TurnFailure, failures int64) {
	why.Message = core.Plain(why.Message, maxBlockedMessage)
	if f.release(working, provider.TurnRelease{Kind: provider.ReleaseFailed, Failure: why, Delay: f.ts.backoff(failures)}) {
		f.ts.reporter.blocked(&f.fetch.Instance, why)
	}
}

// release ends the turn's lease in the given way. It retries until the lease expires. It reports whether the store has taken it.
func (f *fetched) release(working context.Context, item provider.TurnRelease) (taken bool) {
	item.Key, item.Token = f.fetch.Instance.Key, f.token
	return f.ts.Store.Release(working, item)
}

// abandoned blocks the instance of a stuck turn. The third time in a row, it holds the instance until a person unblocks it.
func (f *fetched) abandoned(working context.Context, why *stuckTurn) {
	if why == nil {
		f.release(working, provider.TurnRelease{})
		return
	}
	failures := int64(0)
	if last := f.fetch.Instance.Blocked; last != nil && (last.Reason == reasonDeadlock || last.Reason == reasonLoop) {
		failures = last.Count
	}
	f.block(working, &provider.TurnFailure{
		Reason: why.reason, Hold: failures+1 >= deadlockStrikes, Message: why.message + ":\n" + why.stack,
	}, failures)
}

// outage reports whether the storage failed and may succeed later. A permanent refusal is a fault of the stored data and blocks the
// instance.
func outage(err error) bool {
	failed, ok := errors.AsType[*core.StorageError](err)
	return ok && (provider.Retryable(failed.Err) || errors.Is(err, provider.ErrClosed) || errors.Is(err, provider.ErrNotFound))
}

// elsewhereDelay is how long an instance waits that this node's fallback must not run.
const elsewhereDelay = time.Minute

// failed evicts the execution and blocks the instance, which is retried later, unless the fault is this node's or the storage's.
func (f *fetched) failed(working context.Context, err error) {
	if !f.intact {
		f.ts.evictor.evict(f.a)
	}
	if errors.Is(err, replay.ErrOneByOne) {
		f.ts.actors.setRetries(f.a.key, f.ts.actors.retriesOf(f.a.key).SetOneByOne())
		f.release(working, provider.TurnRelease{})
		return
	}
	if bad, ok := errors.AsType[*replay.UpdatePanicError](err); ok && f.rejectNext(working, bad) {
		return
	}
	if f.olderCode(err) {
		f.ts.evictor.unpin(working, f.a)
		err = errors.Join(err, history.ErrNewer)
	}
	f.ts.Config.Faults.Note(err)
	if outage(err) || errors.Is(err, history.ErrNewer) {
		f.ts.Config.Logger.Warn("turn given back", "instance", f.fetch.Instance.ID, "err", err)
		f.release(working, provider.TurnRelease{Delay: storage.Backoff(5)})
		return
	}
	if errors.Is(err, replay.ErrBegunElsewhere) {
		f.ts.Config.Logger.Warn("turn given back", "instance", f.fetch.Instance.ID, "err", err)
		f.release(working, provider.TurnRelease{Delay: elsewhereDelay})
		return
	}
	f.ts.Count.TurnsFailed.Add(1)
	f.ts.reporter.failed(&f.run, observe.Failed)
	failures := int64(0)
	if b := f.fetch.Instance.Blocked; b != nil {
		failures = b.Count
	}
	delay := f.ts.backoff(failures)
	f.ts.Config.Logger.Error("turn failed: the instance is blocked", "instance", f.fetch.Instance.ID,
		"orchestration", f.fetch.Instance.Name, "reason", reasonOf(err), "retry_in", delay, "err", err)
	f.block(working, &provider.TurnFailure{Reason: reasonOf(err), Message: err.Error()}, failures)
}

// maxPanickedText bounds what a node remembers of a panic in the handler of an update, in bytes.
const maxPanickedText = 1 << 10

// rejectNext ends a turn in which the handler of an update panicked before anything of it was stored.
func (f *fetched) rejectNext(working context.Context, p *replay.UpdatePanicError) bool {
	// What this turn has already noted counts, too, such as that messages go one by one.
	next, ok := f.ts.actors.retriesOf(f.a.key).Panic(p.ID, core.Plain(p.Value, maxPanickedText))
	if !ok {
		return false
	}
	f.ts.actors.setRetries(f.a.key, next)
	f.ts.Config.Logger.Warn("an update panicked and is rejected", "instance", f.info.ID, "orchestration", f.info.Name,
		"update", p.Name, "id", p.ID, "panic", p.Value, "stack", p.Stack)
	f.release(working, provider.TurnRelease{})
	return true
}

// olderCodeTime is how long after its last commit an instance with an unknown patch is left to nodes with newer code. A deploy takes that
// long.
const olderCodeTime = 10 * time.Minute

// olderCode reports whether the turn failed because this node has older code than the node that made the last commit: the code deviates
// from a history with a patch that it does not know. Nodes with that code are there during a deploy, so such a turn is not counted. Later
// the code that knew the patch is gone, and the instance shows as blocked.
func (f *fetched) olderCode(err error) bool {
	deviation, ok := errors.AsType[*replay.NonDeterminismError](err)
	return ok && deviation.Patch != "" && f.ts.Clock.Now().Sub(f.fetch.Instance.UpdatedAt) < olderCodeTime
}
