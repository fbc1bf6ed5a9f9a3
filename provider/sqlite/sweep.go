package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// sweepBatch is how many expired leases of each sort one transaction ends.
const sweepBatch = 1000

const (
	sqlLapsedTurns = `SELECT key FROM perdure_instance WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
	sqlLapsedTasks = `SELECT key, execution, event_id FROM perdure_task
		WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
)

// sweep ends expired leases, so that fetches find their items again.
func (cl *claimer) sweep() error {
	t, shuns := cl.tx, cl.tx.agenda.shuns
	var turns []provider.UUID
	err := t.each(sqlLapsedTurns, func(r *row) error {
		if key := r.uuid(0); !shuns.has(provider.TaskRef{Key: key}) {
			turns = append(turns, key)
		}
		return nil
	}, t.Elapsed, sweepBatch)
	if err != nil {
		return err
	}
	var tasks []provider.TaskRef // by the index alone: a damaged row among them has a name then
	err = t.each(sqlLapsedTasks, func(r *row) error {
		ref := provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)}
		if !shuns.has(ref) {
			tasks = append(tasks, ref)
		}
		return nil
	}, t.Elapsed, sweepBatch)
	if err != nil || len(turns)+len(tasks) == 0 {
		return err
	}
	if err := cl.committer.begin(); err != nil {
		return err
	}
	for _, key := range turns {
		h, err := t.Head(key)
		if err != nil {
			return damageTo(provider.TaskRef{Key: key}, err)
		}
		if h != nil && h.LeaseUntil <= t.Elapsed {
			h.LeaseUntil = 0 // the token stays: it holds the instance until another fetch takes it
			t.TouchWide(h)
		}
	}
	for _, ref := range tasks {
		if err := t.requeue(ref); err != nil {
			return damageTo(ref, err)
		}
	}
	return t.Flush()
}

// sweepApart is sweep in a savepoint.
func (cl *claimer) sweepApart() error {
	if time.Now().Before(cl.unswept) {
		return nil
	}
	if err := cl.committer.begin(); err != nil {
		return err
	}
	own, err := cl.committer.guard(cl.sweep)
	if own == nil {
		return err
	}
	if !cl.meet(own) {
		cl.complaints.add("leases cannot be swept", own)
		cl.unswept = time.Now().Add(time.Second)
	}
	return errRerun
}
