package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// verdict is what became of the members of a group as far as they were judged in memory.
type verdict struct {
	done    []*relational.Member // to be written
	refused []*relational.Member // each with its answer
	alone   []*relational.Member // they must go by themselves
	kind    *needError           // one of the kinds that they wait for
}

// together runs a group in one transaction. It answers the members that must go by themselves; all
// others are done.
func (w *writer) together(pool *pgxpool.Pool, group []*relational.Member) (alone []*relational.Member) {
	ctx := w.p.calling.Context()
	var needs relational.Needs
	for _, m := range group {
		needs.Add(&m.Needs)
	}
	conn, err := w.p.acquire(ctx, pool)
	if err != nil {
		finish(group, err, provider.OutcomeNothing)
		return nil
	}
	defer conn.Release()
	for range maxTries {
		done, kind := w.warmly(ctx, conn, group, &needs)
		if done {
			return nil
		}
		if kind == nil || w.p.loadKindsOn(ctx, conn, kind) != nil {
			break
		}
	}
	u := newUnit(ctx, w.p, conn.Conn())
	u.single = len(group) == 1
	if err := u.begin(needs); err != nil {
		u.rollback()
		if len(group) > 1 && !lost(err) { // one of them is at fault, and shows by itself
			return group
		}
		finish(group, err, provider.OutcomeNothing)
		return nil
	}
	t := u.tx()
	v, err := judge(u, t, group)
	if err != nil {
		u.rollback()
		return group
	}
	return w.conclude(u, t, v)
}

// conclude ends the transaction and answers its members. A refusal may rest on what others of the group did:
// it counts only if that is stored, and else is judged again.
func (w *writer) conclude(u *unit, t *relational.Tx, v verdict) (alone []*relational.Member) {
	if len(v.done) == 0 { // a call that ran alone may have sent some of what it takes back
		u.rollback()
		finishRefused(v.refused)
		return v.alone
	}
	err := w.end(u, t)
	outcome := outcomeOf(err)
	switch {
	case err == nil:
		finishRefused(v.refused)
	case outcome == provider.OutcomeNothing && !lost(err) && (len(v.done) > 1 || isUnique(err, "") || sqlState(err) == stateLockTimeout):
		return append(append(v.alone, v.refused...), v.done...)
	default:
		v.alone = append(v.alone, v.refused...)
	}
	finish(v.done, err, outcome)
	return v.alone
}

// finishRefused answers members with the error that they have.
func finishRefused(refused []*relational.Member) {
	for _, m := range refused {
		close(m.Done)
	}
}

// judge runs each call in memory. One that is refused is taken back without a trace. An error answered here
// ends the transaction.
func judge(u *unit, t *relational.Tx, group []*relational.Member) (v verdict, err error) {
	for _, m := range group {
		err := runMember(u, t, m)
		switch {
		case err == nil:
			v.done = append(v.done, m)
		case needsMore(err):
			if errors.Is(err, errHeld) {
				m.Held++
			} else {
				m.Held = 0
			}
			if need, ok := errors.AsType[*needError](err); ok && need.kind() {
				v.kind = need
			}
			v.alone = append(v.alone, m)
		case isAnswer(err) || errors.Is(err, errRow):
			m.Err = failed(m.Op, err, provider.OutcomeNothing)
			v.refused = append(v.refused, m)
		default:
			return v, err
		}
	}
	return v, nil
}

// needsMore tells whether a call could not be judged in a group.
func needsMore(err error) bool {
	_, need := errors.AsType[*needError](err)
	return need || errors.Is(err, errHeld) || errors.Is(err, errAlone)
}

// runMember runs one call and takes back what it did if it fails.
func runMember(u *unit, t *relational.Tx, m *relational.Member) error {
	outer := t.Effects
	u.effects.Reset()
	t.Effects = u.effects
	t.Begin()
	before := u.ops.begin()
	err := m.Run(t)
	if err == nil && u.missing != nil && u.missing.kind() {
		err = u.missing
	}
	mine := t.Effects
	t.Effects = outer
	if err == nil {
		t.Effects.Merge(&mine)
		return nil
	}
	t.Undo()
	u.ops.rollback(before)
	return err
}

// tx is the view that calls have of the unit.
func (u *unit) tx() *relational.Tx {
	u.view.Now, u.view.Elapsed = u.now, int64(u.now)
	return &u.view
}

// end writes the heads and commits; then everybody whom it concerns is told.
func (w *writer) end(u *unit, t *relational.Tx) error {
	if t.Changes == 0 {
		u.rollback()
		return nil
	}
	if err := t.Flush(); err != nil {
		u.rollback()
		return err
	}
	xid, rider, err := u.commit(&t.Effects)
	if err != nil {
		w.fails(t, rider, err, outcomeOf(err))
		u.rollback()
		return err
	}
	w.p.warm.remember(u, t, xid, rider.claimed())
	w.done(u, t, rider)
	rider.alight(true)
	return nil
}

// done takes note of what a transaction has stored and tells everybody whom it concerns. A rider has seen it.
func (w *writer) done(u *unit, t *relational.Tx, rider *parked) {
	w.commits.Add(1)
	w.turns.Add(t.Effects.Commits)
	w.dropped.Add(t.Effects.Dropped)
	for kind := range u.freed {
		t.Free(kind)
	}
	for _, in := range u.news {
		w.p.hub.Tell(in.Key, in)
	}
	for _, key := range t.Effects.Changed {
		if u.owns(key) && w.p.hub.Watched(key) {
			w.p.hub.Tell(key, u.ownInstance(key))
		}
	}
	w.p.signals.publish(&t.Effects, rider)
}

// fails tells of a transaction that was not answered as it should be. Of one that may be stored everybody is told to look, as nobody will hear
// of it otherwise: a call that is repeated finds it stored and changes nothing.
func (w *writer) fails(t *relational.Tx, rider *parked, err error, outcome provider.Outcome) {
	if lost(err) {
		w.p.kinds.stale.Store(true)
	}
	if outcome != provider.OutcomeUnknown {
		rider.alight(false)
		return
	}
	rider.strand(err)
	fx := t.Effects
	fx.Notices = nil // they say that something is so
	w.p.signals.hint(&fx)
}

// rollback ends a transaction that is to leave no trace. A connection that cannot do that
// is closed: its server ends the transaction then.
func (u *unit) rollback() {
	if u.conn.IsClosed() || u.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := u.conn.Exec(u.ctx, "ROLLBACK"); err != nil {
		_ = u.conn.Close(u.ctx) // it is closed whatever this answers
	}
}
