package sqlite

import "github.com/perdure/perdure/provider"

// sweepBatch is how many lapsed leases of each sort one transaction ends.
const sweepBatch = 1000

const (
	sqlLapsedTurns = `SELECT key FROM perdure_instance WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
	sqlLapsedTasks = `SELECT key, execution, event_id FROM perdure_task
		WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
	// The token stays: it holds the task until somebody else takes it.
	sqlRequeueTask = `UPDATE perdure_task SET state = ?, lease_until = 0, fetch_at = ?,
		expire_at = ? WHERE key = ? AND execution = ? AND event_id = ?`
)

// sweep ends lapsed leases, so that their items are found by fetches again.
func (w *writer) sweep() error {
	t := w.tx
	var turns []provider.UUID
	err := t.each(sqlLapsedTurns, func(r *row) error {
		if key := r.uuid(0); !w.shunned(provider.TaskRef{Key: key}) {
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
		if !w.shunned(ref) {
			tasks = append(tasks, ref)
		}
		return nil
	}, t.Elapsed, sweepBatch)
	if err != nil || len(turns)+len(tasks) == 0 {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	for _, key := range turns {
		h, err := t.Head(key)
		if err != nil {
			return damageTo(provider.TaskRef{Key: key}, err)
		}
		if h != nil && h.LeaseUntil <= t.Elapsed {
			h.LeaseUntil = 0 // the token stays: it holds the instance until somebody else takes it
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

// requeue ends the lease of a task and makes it fetchable again, unless its instance is suspended.
func (t *tx) requeue(ref provider.TaskRef) error {
	task, err := t.Task(ref)
	if err != nil || task == nil {
		return err
	}
	h, err := t.Head(ref.Key)
	if err != nil && !damaged(err) { // an unreadable instance must not hold up the sweep
		return err
	}
	if task.State == provider.TaskLeased {
		task.State = provider.TaskQueued
	}
	t.Schedule(task, h)
	return t.do(sqlRequeueTask, int64(task.State), timeOrNull(task.FetchAt), timeOrNull(task.ExpireAt), ref.Key, ref.Execution, ref.EventID)
}
