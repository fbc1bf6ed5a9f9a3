package validations

import (
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func fenceCases() []testCase {
	const mismatch = "[ErrConflict]: the key, execution, Version or history length is not the stored one, a " +
		"consumed message is gone, or the instance is Suspended, ended or marked for deletion."
	const again = "If the stored Version is req.Commit, the turn was stored before and the call succeeds again."
	return []testCase{
		{name: "version", run: fenceVersion, rule: mismatch},
		{name: "key", run: fenceKey, rule: mismatch},
		{name: "execution", run: fenceExecution, rule: mismatch},
		{name: "length", run: fenceLength, rule: mismatch},
		{name: "consumed-is-gone", run: fenceConsumed, rule: mismatch},
		{name: "suspended", run: fenceSuspended, rule: mismatch},
		{name: "ended", run: fenceEnded, rule: mismatch},
		{name: "deleted", run: fenceDeleted, rule: mismatch},
		{name: "steered", run: fenceSteered, rule: "It writes a new Version, so that a turn in flight fails with ErrConflict."},
		{name: "same-commit-again", run: fenceAgain, rule: again},
		{name: "same-close-again", run: fenceAgainClosed, rule: again},
		{name: "racing-commits", run: fenceRace, rule: "CommitTurn names the Version that the turn was computed from and a new ID of its own."},
		{name: "racing-repeats", run: fenceRepeatRace, rule: again},
		{name: "lease-is-a-hint", run: fenceHint, rule: "A turn lease is only a hint that saves work."},
		{name: "eventless-turn", run: fenceEventless, rule: "An instance row holds Version, the ID of the last commit that changed it."},
	}
}

func fenceVersion(t *trial) {
	i := t.begin("i")
	req := rich(i)
	req.Expected = unique()
	t.refused(req, provider.ErrConflict)
}

func fenceKey(t *trial) {
	i := t.begin("i")
	req := rich(i)
	req.Key = unique()
	t.unchanged(i.Key, func() {
		_, err := t.CommitTurn(t.ctx, req)
		t.want(err, provider.ErrConflict)
	})
}

func fenceExecution(t *trial) {
	req := rich(t.begin("i"))
	req.Execution = 2
	t.refused(req, provider.ErrConflict)
}

func fenceLength(t *trial) {
	for _, off := range []int64{-1, 1} {
		req := rich(t.begin(fmt.Sprint("i", off)))
		req.Length += off
		t.refused(req, provider.ErrConflict)
	}
}

func fenceConsumed(t *trial) {
	i := t.begin("i")
	sent := t.send(i.Key, text("m"))
	req := rich(i)
	req.Consumed = []int64{sent.MessageID, sent.MessageID + 1000}
	t.refused(req, provider.ErrConflict)
	req = next(i)
	req.Consumed = []int64{sent.MessageID}
	t.commit(req)
	req = rich(t.get(i.Key))
	req.Consumed = []int64{sent.MessageID}
	t.refused(req, provider.ErrConflict)
}

func fenceSuspended(t *trial) {
	i := t.begin("i")
	t.refused(rich(t.steer(i.Key, provider.SteerSuspend)), provider.ErrConflict)
}

func fenceEnded(t *trial) {
	t.refused(rich(t.end(t.begin("i"))), provider.ErrConflict)
}

func fenceDeleted(t *trial) {
	i := t.begin("i")
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: i.Key, Force: true})
	t.ok(err)
	_, err = t.CommitTurn(t.ctx, rich(i))
	t.want(err, provider.ErrConflict)
	_, err = t.Get(t.ctx, provider.GetRequest{Key: i.Key})
	t.want(err, provider.ErrNotFound)
}

func fenceSteered(t *trial) {
	i := t.begin("i")
	t.steer(i.Key, provider.SteerSuspend)
	t.steer(i.Key, provider.SteerResume)
	t.refused(rich(i), provider.ErrConflict)
}

func fenceAgain(t *trial) {
	i := t.begin("i")
	req := rich(i)
	first := t.commit(req)
	t.unchanged(i.Key, func() {
		again := t.commit(req)
		is(t, "ReadyAt of the repeated commit", again.ReadyAt, first.ReadyAt)
	})
	t.historyIs(i.Key, 1, "1:started 2:event")
}

func fenceAgainClosed(t *trial) {
	i := t.begin("i")
	req := next(i, "event")
	req.Status = provider.StatusFailed
	t.commit(req)
	t.unchanged(i.Key, func() { t.commit(req) })
}

func fenceRace(t *trial) {
	i := t.begin("i")
	var won atomic.Int64
	t.parallel(8, func(n int) {
		_, err := t.CommitTurn(t.ctx, next(i, fmt.Sprint("event", n)))
		if err == nil {
			won.Add(1)
			return
		}
		t.want(err, provider.ErrConflict)
	})
	t.checkf(won.Load() == 1, "%d commits on one version were stored, want 1", won.Load())
	t.checkf(t.get(i.Key).HistoryLength == 2, "history has %d events, want 2", t.get(i.Key).HistoryLength)
}

func fenceRepeatRace(t *trial) {
	i := t.begin("i")
	req := next(i, "event")
	t.parallel(8, func(int) { t.commit(req) })
	t.historyIs(i.Key, 1, "1:started 2:event")
}

func fenceHint(t *trial) {
	i := t.create("i")
	old := t.fetchOne(briefly)
	t.fetchOne() // another node, after the lease has expired
	t.commit(commitOf(old, "event"))
	t.historyIs(i.Key, 1, "1:event")
}

func fenceEventless(t *trial) {
	i := t.begin("i")
	req := next(i)
	t.commit(req)
	is(t, "the version after a turn without events", t.get(i.Key).Version, req.Commit)
	t.refused(rich(i), provider.ErrConflict)
}
