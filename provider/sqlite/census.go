package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// censusEvery is how often a process looks whether the others are still there, and so how
// long the leases of one that was killed hold at least.
const censusEvery = 250 * time.Millisecond

const (
	sqlEnroll    = `INSERT INTO perdure_owner (process, owner) VALUES (?, ?) ON CONFLICT DO NOTHING`
	sqlProcesses = `SELECT DISTINCT process FROM perdure_owner WHERE process <> ?`
	sqlOwners    = `SELECT process, owner FROM perdure_owner`
	sqlServed    = `SELECT count(*) FROM perdure_owner WHERE owner = ?`
	sqlStrike    = `DELETE FROM perdure_owner WHERE process = ?`
	// An owner that another process serves, too, is not gone with this one.
	sqlGone = ` IN (SELECT owner FROM perdure_owner WHERE process = ?1 EXCEPT SELECT owner FROM perdure_owner WHERE process <> ?1)`
	// Leases in the past end with the next sweep.
	sqlLapseTurns    = `UPDATE perdure_instance SET lease_until = 1 WHERE lease_until > 0 AND lease_owner` + sqlGone
	sqlLapseTasks    = `UPDATE perdure_task SET lease_until = 1 WHERE lease_until > 0 AND owner` + sqlGone
	sqlLapseSessions = `UPDATE perdure_session SET lease_until = 1 WHERE owner` + sqlGone
	sqlLapseSticky   = `UPDATE perdure_instance SET sticky_until = 0 WHERE fetch_at IS NOT NULL AND sticky_until > 0 AND sticky_owner` + sqlGone
)

// enroll writes down that this process serves a lease owner, in the transaction that gives
// the owner its first lease.
func (t *tx) enroll(owner string) error {
	if t.guest { // who is sticky there was enrolled when it became so
		return nil
	}
	if _, ok := t.writer.enrolled[owner]; ok || owner == "" || slices.Contains(t.enrolled, owner) {
		return nil
	}
	_, err := t.exec(sqlEnroll, t.writer.store.here.process, owner)
	t.enrolled = append(t.enrolled, owner)
	return err
}

// attend looks at the file's place and takes the census when it is time to, in every round: a writer that is never idle
// must not leave the leases of the dead to run out.
func (w *writer) attend() {
	f := &w.foreign
	if time.Since(f.census) < censusEvery {
		return
	}
	f.census = time.Now()
	w.store.checkPlace()
	if w.store.misplaced() != nil {
		return
	}
	if w.store.clock.stepped() {
		if err := w.saveTime(); err != nil {
			w.complain("a step of the clock cannot be stored", err)
		}
	}
	f.alone = w.store.here.alone()
	if err := w.bury(); err != nil {
		w.complain("leases of dead processes cannot be ended", err)
	}
}

// bury ends the leases of processes that are gone. Others keep theirs until they run out,
// as do owners that no process has enrolled; tokens keep safe who is buried alive.
func (w *writer) bury() error {
	gone, err := w.departed()
	if err != nil || len(gone) == 0 {
		return err
	}
	w.tx.afresh()
	if err := w.begin(); err != nil {
		return err
	}
	for _, process := range gone {
		for _, sql := range []string{sqlLapseTurns, sqlLapseTasks, sqlLapseSessions, sqlLapseSticky, sqlStrike} {
			if _, err := w.tx.exec(sql, process); err != nil {
				w.rollback()
				return fmt.Errorf("process %d: %w", process, err)
			}
		}
	}
	w.tx.forget()
	w.due.stale, w.foreign.listed = true, false
	return w.finish()
}

// departed lists the processes that have left owners in the file and are gone.
func (w *writer) departed() (gone []int64, err error) {
	f := &w.foreign
	if !f.listed {
		f.others = f.others[:0]
		err := w.tx.each(sqlProcesses, func(r *row) error {
			f.others = append(f.others, r.int(0))
			return nil
		}, w.store.here.process)
		if err != nil {
			return nil, err
		}
		f.listed = true
	}
	for _, process := range f.others {
		if w.store.here.gone(process) {
			gone = append(gone, process)
		}
	}
	return gone, nil
}

// goneOwners answers the lease owners that are known dead: enrolled, and by processes that
// are all gone.
func (s *store) goneOwners(ctx context.Context, c *conn) (map[string]bool, error) {
	gone := make(map[string]bool)
	err := c.each(ctx, sqlOwners, func(r *row) error {
		before, known := gone[r.text(1)]
		gone[r.text(1)] = (before || !known) && s.here.gone(r.int(0))
		return nil
	})
	return gone, err
}
