package sqlite

import (
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// errRerun asks for the group again, each member and each fetch in a savepoint: one failed
// after it had written, or met damage, after which SQLite takes no writes in the same
// transaction. That is rare, and savepoints for all would cost all of them.
var errRerun = errors.New("a call failed within the group")

// round runs the group and serves the parked fetches that it concerns.
func (w *writer) round() {
	claims, err := w.transact(false)
	for n := 0; errors.Is(err, errRerun) && n < maxDamage; n++ {
		w.showDamage()
		claims, err = w.transact(true)
	}
	if err != nil {
		for _, m := range w.group {
			if _, out := w.out[m]; !out {
				m.Err = failed(m.Op, err, outcomeOfAbort(err))
			}
		}
		w.failParked(claims, err)
	} else {
		w.publish()
	}
	for i, m := range w.group {
		close(m.Done)
		w.group[i] = nil
	}
	w.group = w.group[:0]
	clear(w.out)
	waits := w.answer(claims)
	if err != nil && !w.tried.served {
		w.round() // the group failed before the fetches had their turn
		return
	}
	if waits {
		w.measureFresh()
	}
	w.settle()
}

// commitError marks a COMMIT that failed: it cannot be told whether the disk has it.
type commitError struct{ err error }

func (e *commitError) Error() string { return fmt.Sprintf("commit: %v", e.err) }

func (e *commitError) Unwrap() error { return e.err }

// outcomeOfAbort tells what is known of a group's writes. When the disk was full the log has
// no mark of the commit, which is the last thing that a commit writes: nobody will ever take it for one.
func outcomeOfAbort(err error) provider.Outcome {
	if _, ok := errors.AsType[*commitError](err); ok && code(err)&0xff != lib.SQLITE_FULL && !refusedCommit(err) {
		return provider.OutcomeUnknown
	}
	return provider.OutcomeNothing
}

// refusedCommit tells whether a COMMIT failed because of a constraint that it is the first to check.
func refusedCommit(err error) bool {
	_, ok := errors.AsType[*commitError](err)
	return ok && code(err)&0xff == lib.SQLITE_CONSTRAINT
}

// transact runs the group and the claims of parked fetches in one transaction.
func (w *writer) transact(savepoints bool) ([]*parked, error) {
	t := w.tx
	t.afresh()
	t.watched = w.awaitsPlace()
	w.tried = tried{}
	if err := w.store.misplaced(); err != nil {
		w.tried.served = true
		return w.candidates(true), err
	}
	if len(w.group) > 0 {
		if err := w.begin(); err != nil {
			return nil, err
		}
		w.group, _ = w.queue.Take(w.group, maxGroup, maxGroupBytes) // who came while other processes had the file goes along
		w.crowd = len(w.group) > 1
	}
	for _, m := range w.group {
		if err := w.member(m, savepoints); err != nil {
			w.rollback()
			return nil, err
		}
	}
	if err := t.Flush(); err != nil {
		w.rollback()
		if !savepoints && ownFault(err) {
			err = errRerun
		}
		return nil, err
	}
	claims, err := w.serve(savepoints)
	if err != nil {
		w.rollback()
		return claims, err
	}
	return claims, w.finish()
}

// member runs one member. Its own failure stays with it; an error answered here ends the
// transaction.
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
	own, err := w.guard(func() error { return m.Run(&w.tx.Tx) })
	m.Err = failed(m.Op, own, provider.OutcomeNothing)
	if errors.Is(err, errRerun) {
		w.out[m] = struct{}{}
	}
	return err
}

// guard runs fn in a savepoint. A fault of fn's own takes all that it did along and leaves
// the transaction whole, unless it asks for a rerun, too; it is answered apart from what ends
// the transaction.
func (w *writer) guard(fn func() error) (own, err error) {
	t := w.tx
	if err := t.Flush(); err != nil {
		return nil, err
	}
	if _, err := t.db.exec("SAVEPOINT member"); err != nil {
		return nil, err
	}
	outer, changes, enrolled := t.Effects, t.Changes, len(t.enrolled)
	t.Effects = relational.NewEffects()
	own = fn()
	if own == nil {
		own = t.Flush()
	}
	mine := t.Effects
	t.Effects = outer
	if own == nil {
		t.Effects.Merge(&mine)
		_, err := t.db.exec("RELEASE member")
		return nil, err
	}
	if !ownFault(own) {
		return nil, own
	}
	if brokenPage(own) {
		return own, errRerun
	}
	t.Changes, t.enrolled = changes, t.enrolled[:enrolled]
	t.forget()
	if _, err := t.db.exec("ROLLBACK TO member"); err != nil {
		return nil, err
	}
	_, err = t.db.exec("RELEASE member")
	return own, err
}

// begin opens the transaction unless it is open.
func (w *writer) begin() error {
	if w.begun {
		return nil
	}
	if err := w.gate.enter(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if _, err := w.tx.db.exec("BEGIN IMMEDIATE"); err != nil {
		w.gate.leave()
		return fmt.Errorf("begin: %w", w.store.whoHolds(err))
	}
	w.begun = true
	w.tx.skew = w.store.clock.skew()
	w.tx.tick()
	if err := w.look(); err != nil {
		w.rollback()
		return fmt.Errorf("begin: %w", err)
	}
	if len(w.tx.Heads) > maxHeads {
		clear(w.tx.Heads)
		clear(w.tx.made)
	}
	return nil
}

// finish ends the transaction: by COMMIT if it changed anything.
// The rows of ended instances that somebody waits for are read first, which saves each of
// the waiting calls a read.
func (w *writer) finish() error {
	if !w.begun {
		return nil
	}
	if w.tx.Changes == 0 {
		w.begun = false
		_, err := w.tx.db.exec("ROLLBACK")
		w.gate.leave()
		return err
	}
	w.attachRows()
	_, err := w.tx.db.exec("COMMIT")
	if err != nil {
		w.rollback()
		return &commitError{err}
	}
	w.begun, w.tx.read.made = false, false
	w.written()
	w.gate.leave()
	return nil
}

// rollback ends a transaction that failed. SQLite may have ended it already, then the
// statement fails and nothing is left to undo.
func (w *writer) rollback() {
	w.tx.forget()
	w.tx.read.made = false
	if !w.begun {
		return
	}
	w.begun = false
	if _, err := w.tx.db.exec("ROLLBACK"); err != nil && !noTransaction(err) {
		w.store.log.Error("perdure sqlite: rollback failed", "path", w.store.path, "error", err)
	}
	w.gate.leave()
}

// noTransaction tells whether a ROLLBACK failed because SQLite had rolled back itself.
func noTransaction(err error) bool { return code(err)&0xff == 1 }

// publish tells everyone what the committed transaction did. Nobody is told before.
func (w *writer) publish() {
	fx, hub := &w.tx.Effects, w.store.hub
	w.turns.Add(fx.Commits)
	w.dropped.Add(fx.Dropped)
	for _, owner := range w.tx.enrolled {
		w.enrolled[owner] = struct{}{}
	}
	w.tx.quiet.stir(w.tx)
	w.due.wall = min(w.due.wall, w.due.ahead(fx.Due))
	w.due.elapsed = min(w.due.elapsed, fx.ElapsedDue)
	hub.Made(fx.Made)
	for _, key := range fx.Changed {
		hub.Tell(key, w.rowOf(key))
		delete(w.tx.made, key)
	}
	for _, a := range fx.Answers {
		hub.Reply(a)
	}
	hub.Announce(fx.Notices)
}

// attachRows reads the rows that waiting calls will want.
func (w *writer) attachRows() {
	clear(w.rows)
	for _, key := range w.tx.Effects.Changed {
		if w.store.hub.Watched(key) {
			if in, err := w.tx.Row(key); err == nil { // else they read, and get the error themselves
				w.rows[key] = &in
			}
		}
	}
}

// rowOf answers the row that was read, or for who began to wait during the commit what is known without reading; nil if there is none.
func (w *writer) rowOf(key provider.UUID) *provider.Instance {
	row := w.rows[key]
	if row == nil && w.store.hub.Watched(key) {
		if in, ok := w.tx.recall(key); ok {
			row = &in
		}
	}
	return row
}
