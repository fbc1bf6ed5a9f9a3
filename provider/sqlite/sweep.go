package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// sweepBatch is how many expired leases of each sort one transaction ends.
const sweepBatch = 1000

const (
	sqlExpiredTurnLeases = `SELECT key FROM perdure_instance WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
	sqlExpiredTaskLeases = `SELECT key, execution, event_id FROM perdure_task
		WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
)

// sweep ends expired leases, so that fetches find their items again.
func (cl *claimer) sweep() error {
	t, skips := cl.tx, cl.tx.schedule.skips
	var turns []provider.UUID
	err := t.each(sqlExpiredTurnLeases, func(r *row) error {
		if key := r.uuid(0); !skips.has(provider.TaskRef{Key: key}) {
			turns = append(turns, key)
		}
		return nil
	}, t.Elapsed, sweepBatch)
	if err != nil {
		return err
	}
	var tasks []provider.TaskRef // by the index alone: a damaged row among them has a name then
	err = t.each(sqlExpiredTaskLeases, func(r *row) error {
		ref := provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)}
		if !skips.has(ref) {
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
		t.Touch(ref.Key)
		if err := t.requeue(ref); err != nil {
			return damageTo(ref, err)
		}
	}
	return t.Flush()
}

// sweepInSavepoint is sweep in a savepoint.
func (cl *claimer) sweepInSavepoint() error {
	if time.Now().Before(cl.sweepAfter) {
		return nil
	}
	if err := cl.committer.begin(); err != nil {
		return err
	}
	own, err := cl.committer.guard(cl.sweep)
	if own == nil {
		return err
	}
	if !cl.noteDamage(own) {
		cl.logLimiter.report("leases cannot be swept", own)
		cl.sweepAfter = time.Now().Add(time.Second)
	}
	return errRerun
}
