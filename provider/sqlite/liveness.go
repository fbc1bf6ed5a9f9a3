package sqlite

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/provider/internal/relational"
)

// livenessEvery is how often a process checks that the others are alive. The leases of a killed process hold at least that long.
const livenessEvery = 250 * time.Millisecond

const (
	sqlProcesses  = `SELECT DISTINCT process FROM perdure_owner WHERE process <> ?`
	sqlOwners     = `SELECT process, owner FROM perdure_owner`
	sqlServed     = `SELECT count(*) FROM perdure_owner WHERE owner = ?`
	sqlDropOwners = `DELETE FROM perdure_owner WHERE process = ?`
	// An owner that another process serves, too, is not gone with this one.
	sqlGoneOwners = ` IN (SELECT owner FROM perdure_owner WHERE process = ?1 EXCEPT SELECT owner FROM perdure_owner WHERE process <> ?1)`
	// Leases in the past end with the next sweep.
	sqlExpireTurnLeases = `UPDATE perdure_instance SET lease_until = 1 WHERE lease_until > 0 AND lease_owner` + sqlGoneOwners
	sqlExpireTaskLeases = `UPDATE perdure_task SET lease_until = 1 WHERE lease_until > 0 AND owner` + sqlGoneOwners
	sqlExpireSessions   = `UPDATE perdure_session SET lease_until = 1 WHERE owner` + sqlGoneOwners
	sqlExpireSticky     = `UPDATE perdure_instance SET sticky_until = 0 WHERE fetch_at IS NOT NULL AND sticky_until > 0 AND sticky_owner` + sqlGoneOwners
)

// checkLiveness checks the file's paths, and whether the other processes are alive, when it is time to. It is called in every
// round: a writer that is never idle must not leave the leases of dead processes to expire.
func (w *writer) checkLiveness() {
	o := &w.others
	if time.Since(o.livenessAt) < livenessEvery {
		return
	}
	o.livenessAt = time.Now()
	w.store.checkPaths()
	if w.store.pathError() != nil {
		return
	}
	if w.store.clock.stepped() {
		if err := w.saveTime(); err != nil {
			w.logLimiter.report("a step of the clock cannot be stored", err)
		}
	}
	o.alone = w.store.presence.alone()
	if err := w.reapLeases(); err != nil {
		w.logLimiter.report("leases of dead processes cannot be ended", err)
	}
}

// reapLeases ends the leases of processes that are gone. The leases of other processes run until they expire, and so do those of
// owners that no process has enrolled. Tokens protect a process that was taken for dead.
func (w *writer) reapLeases() error {
	gone, err := w.others.deadProcesses(w.tx.db)
	if err != nil || len(gone) == 0 {
		return err
	}
	return w.committer.run(func() error {
		for _, process := range gone {
			for _, sql := range []string{sqlExpireTurnLeases, sqlExpireTaskLeases, sqlExpireSessions, sqlExpireSticky, sqlDropOwners} {
				if _, err := w.tx.exec(sql, process); err != nil {
					return fmt.Errorf("process %d: %w", process, err)
				}
			}
		}
		w.committer.forget()
		w.tx.schedule.stale, w.others.processesRead = true, false
		return nil
	})
}

// goneOwners returns the lease owners that are known dead: all processes that have enrolled them are gone.
func (s *store) goneOwners(q relational.Queryer) (map[string]bool, error) {
	gone := make(map[string]bool)
	err := q.Query(relational.Query{SQL: sqlOwners, Each: func(r relational.Row) error {
		before, known := gone[r.Text(1)]
		gone[r.Text(1)] = (before || !known) && s.presence.gone(r.Int(0))
		return nil
	}})
	return gone, err
}
