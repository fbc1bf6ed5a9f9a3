package sqlite

import (
	"errors"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// errRerun asks for the group again, each member and each fetch in a savepoint. A member failed after it had written, or met
// damage, after which SQLite takes no writes in the same transaction. That is rare, and savepoints for all would cost all of
// them.
var errRerun = errors.New("a call failed within the group")

// round runs the group and serves the parked fetches that it concerns.
func (w *writer) round() {
	claims, err := w.transact(false)
	for n := 0; errors.Is(err, errRerun) && n < maxDamage; n++ {
		w.claimer.showDamage()
		claims, err = w.transact(true)
	}
	if err != nil {
		for _, m := range w.group {
			if _, out := w.out[m]; !out {
				m.Err = failed(m.Op, err, outcomeOfAbort(err))
			}
		}
		failParked(claims, err)
	} else {
		w.committer.publish()
	}
	for i, m := range w.group {
		close(m.Done)
		w.group[i] = nil
	}
	w.group = w.group[:0]
	clear(w.out)
	waits, gone := w.parking.answer(claims)
	for _, c := range gone {
		w.later(c.op, c.undo)
	}
	if err != nil && !w.tx.agenda.tried.served {
		w.round() // the group failed before the fetches had their turn
		return
	}
	if waits {
		w.tx.agenda.measureFresh(w.tx)
	}
	w.settle()
}

// settle acts on foreign commits and on due moments that have passed, once all parked fetches were tried for them.
func (w *writer) settle() {
	if !w.tx.agenda.tried.all {
		return
	}
	if w.foreign.changed {
		w.foreign.changed, w.foreign.owed = false, true
	}
	w.tell()
	if !w.parking.any() {
		return
	}
	if err := w.tx.agenda.settle(w.tx); err != nil {
		w.complaints.add("due times cannot be read", err)
	}
}

// transact runs the group and the claims of parked fetches in one transaction.
func (w *writer) transact(savepoints bool) ([]*parked, error) {
	t, c := w.tx, &w.committer
	c.afresh()
	t.watched = w.parking.awaitsPlace()
	t.agenda.tried = tried{}
	if err := w.store.misplaced(); err != nil {
		t.agenda.tried.served = true
		return w.parking.candidates(t, true), err
	}
	if len(w.group) > 0 {
		if err := c.begin(); err != nil {
			return nil, err
		}
		w.group, _ = w.queue.Take(w.group, maxGroup, maxGroupBytes) // calls that came while other processes had the file go along
		w.crowd = len(w.group) > 1
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
	claims, err := w.claimer.serve(w.foreign.changed, savepoints)
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
	if _, out := w.out[m]; out {
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
		w.out[m] = struct{}{}
	}
	return err
}
