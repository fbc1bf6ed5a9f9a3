package sqlite

import (
	"errors"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// errRerun asks for the group again, each member and each fetch in a savepoint. A member failed after it had written, or found
// damage, after which SQLite takes no writes in the same transaction. That is rare, and savepoints for all would cost all of
// them.
var errRerun = errors.New("a call failed within the group")

// round runs the group and serves the waiting fetches that it concerns.
func (w *writer) round() {
	claims, err := w.transact(false)
	for n := 0; errors.Is(err, errRerun) && n < maxDamage; n++ {
		w.claimer.showDamage()
		claims, err = w.transact(true)
	}
	if err != nil {
		for _, m := range w.group {
			if _, excluded := w.excluded[m]; !excluded {
				m.Err = failed(m.Op, err, outcomeOfAbort(err))
			}
		}
		failWaiting(claims, err)
	} else {
		w.committer.publish()
	}
	for i, m := range w.group {
		close(m.Done)
		w.group[i] = nil
	}
	w.group = w.group[:0]
	clear(w.excluded)
	waits, abandoned := w.waiters.finish(claims)
	for _, c := range abandoned {
		w.submit(c.op, c.undo)
	}
	if err != nil && !w.tx.schedule.tried.served {
		w.round() // the group failed before the fetches had their turn
		return
	}
	if waits {
		w.tx.schedule.readFreshDue(w.tx)
	}
	w.finishRound()
}

// finishRound acts on commits of other processes and on due moments that have passed, once all waiting fetches were tried for
// them.
func (w *writer) finishRound() {
	if !w.tx.schedule.tried.all {
		return
	}
	if w.others.changed {
		w.others.changed, w.others.recheckPending = false, true
	}
	w.notify()
	if !w.waiters.any() {
		return
	}
	if err := w.tx.schedule.resetDue(w.tx); err != nil {
		w.logLimiter.report("due times cannot be read", err)
	}
}

// transact runs the group and the claims of waiting fetches in one transaction.
func (w *writer) transact(savepoints bool) ([]*waitingFetch, error) {
	t, c := w.tx, &w.committer
	c.reset()
	t.named = true // round publishes what it did
	t.watched = w.waiters.awaitsPlace()
	t.schedule.tried = tried{}
	if err := w.store.pathError(); err != nil {
		t.schedule.tried.served = true
		return w.waiters.candidates(t, true), err
	}
	if len(w.group) > 0 {
		if err := c.begin(); err != nil {
			return nil, err
		}
		w.group, _ = w.queue.Take(w.group, maxGroup, maxGroupBytes) // calls that came while other processes had the file go along
		w.grouped = len(w.group) > 1
	}
	for _, m := range w.group {
		if err := w.member(m, savepoints); err != nil {
			c.rollback()
			return nil, err
		}
	}
	if err := t.Flush(); err != nil {
		c.rollback()
		if !savepoints && ownFault(err) {
			err = errRerun
		}
		return nil, err
	}
	claims, err := w.claimer.serve(w.others.changed, savepoints)
	if err != nil {
		c.rollback()
		return claims, err
	}
	return claims, c.commit()
}

// member runs one member, which keeps its own failure. An error that is returned ends the transaction.
func (w *writer) member(m *relational.Member, savepoint bool) error {
	t := w.tx
	t.tick()
	if _, excluded := w.excluded[m]; excluded {
		return nil
	}
	if savepoint {
		return w.guarded(m)
	}
	before := t.Changes
	m.Err = m.Run(&t.Tx)
	switch {
	case m.Err == nil:
	case !ownFault(m.Err):
		return m.Err
	case t.Changes != before || !isAnswer(m.Err):
		return errRerun
	default:
		m.Err = failed(m.Op, m.Err, provider.OutcomeNothing)
	}
	return nil
}

// guarded runs a member in a savepoint.
func (w *writer) guarded(m *relational.Member) error {
	own, err := w.committer.guard(func() error { return m.Run(&w.tx.Tx) })
	m.Err = failed(m.Op, own, provider.OutcomeNothing)
	if errors.Is(err, errRerun) {
		w.excluded[m] = struct{}{}
	}
	return err
}
