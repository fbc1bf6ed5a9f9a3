package sqlite

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/provider/internal/relational"
)

// censusEvery is how often a process checks that the others are alive. The leases of a killed process hold at least that long.
const censusEvery = 250 * time.Millisecond

const (
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

// attend checks the file's place and takes the census when it is time to, in every round. A writer that is never idle must
// not leave the leases of dead processes to expire.
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
			w.complaints.add("a step of the clock cannot be stored", err)
		}
	}
	f.alone = w.store.here.alone()
	if err := w.bury(); err != nil {
		w.complaints.add("leases of dead processes cannot be ended", err)
	}
}

// bury ends the leases of processes that are gone. The leases of other processes run until they expire, and so do those of
// owners that no process has enrolled. Tokens protect a process that was taken for dead.
func (w *writer) bury() error {
	gone, err := w.foreign.departed(w.tx.db)
	if err != nil || len(gone) == 0 {
		return err
	}
	return w.committer.run(func() error {
		for _, process := range gone {
			for _, sql := range []string{sqlLapseTurns, sqlLapseTasks, sqlLapseSessions, sqlLapseSticky, sqlStrike} {
				if _, err := w.tx.exec(sql, process); err != nil {
					return fmt.Errorf("process %d: %w", process, err)
				}
			}
		}
		w.committer.forget()
		w.tx.agenda.stale, w.foreign.listed = true, false
		return nil
	})
}

// goneOwners returns the lease owners that are known dead: all processes that have enrolled them are gone.
func (s *store) goneOwners(q relational.Queryer) (map[string]bool, error) {
	gone := make(map[string]bool)
	err := q.Query(relational.Query{SQL: sqlOwners, Each: func(r relational.Row) error {
		before, known := gone[r.Text(1)]
		gone[r.Text(1)] = (before || !known) && s.here.gone(r.Int(0))
		return nil
	}})
	return gone, err
}
