package sqlite

import "github.com/perdure/perdure/provider"

// sweepBatch is how many lapsed leases of each sort one transaction ends.
const sweepBatch = 1000

const (
	sqlLapsedTurns = `SELECT key FROM perdure_instance WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
	sqlLapsedTasks = `SELECT key, execution, event_id FROM perdure_task
		WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
	sqlLapsedTask = `SELECT key, execution, event_id, kind, not_before_at, deadline_at FROM perdure_task
		WHERE key = ? AND execution = ? AND event_id = ?`
	// The token stays: it holds the task until somebody else takes it.
	sqlRequeueTask = `UPDATE perdure_task SET state = 1, lease_until = 0, fetch_at = ?,
		expire_at = ? WHERE key = ? AND execution = ? AND event_id = ?`
)

// taskRow names a task and what decides when it may be fetched.
type taskRow struct {
	provider.TaskRef
	kind                int64
	notBefore, deadline provider.Time
}

// sweep ends lapsed leases, so that their items are found by fetches again.
func (w *writer) sweep() error {
	t := &w.tx
	var turns []provider.UUID
	err := t.each(sqlLapsedTurns, func(r *row) error {
		if key := r.uuid(0); !w.shunned(provider.TaskRef{Key: key}) {
			turns = append(turns, key)
		}
		return nil
	}, t.elapsed, sweepBatch)
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
	}, t.elapsed, sweepBatch)
	if err != nil || len(turns)+len(tasks) == 0 {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	for _, key := range turns {
		h, err := t.head(key)
		if err != nil {
			return damageTo(provider.TaskRef{Key: key}, err)
		}
		if h != nil && h.leaseUntil <= t.elapsed {
			h.leaseUntil = 0 // the token stays: it holds the instance until somebody else takes it
			t.touchWide(h)
		}
	}
	for _, ref := range tasks {
		list, err := t.taskRows(sqlLapsedTask, ref.Key, ref.Execution, ref.EventID)
		if err == nil && len(list) == 1 {
			err = t.requeue(&list[0])
		}
		if err != nil {
			return damageTo(ref, err)
		}
	}
	return t.flush()
}

func (t *tx) taskRows(sql string, args ...any) (list []taskRow, err error) {
	err = t.each(sql, func(r *row) error {
		list = append(list, taskRow{
			TaskRef: provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)},
			kind:    r.int(3), notBefore: r.time(4), deadline: r.time(5),
		})
		return nil
	}, args...)
	return list, err
}

// endLease takes the turn lease from an instance.
func (t *tx) endLease(h *head) {
	h.leaseToken, h.leaseOwner, h.leaseUntil = provider.UUID{}, "", 0
	t.touchWide(h)
}

// requeue makes a task fetchable again, unless its instance is suspended.
func (t *tx) requeue(task *taskRow) error {
	h, err := t.head(task.Key)
	if err != nil && !damaged(err) { // an unreadable instance must not hold up the sweep
		return err
	}
	fetch, expire := t.schedule(task, h)
	_, err = t.exec(sqlRequeueTask, timeOrNull(fetch), timeOrNull(expire), task.Key, task.Execution, task.EventID)
	return err
}

// schedule computes when a queued task may be fetched, and when as one past its
// deadline, and tells parked fetches.
func (t *tx) schedule(task *taskRow, h *head) (fetch, expire provider.Time) {
	if h != nil && h.status == provider.StatusSuspended {
		return 0, 0
	}
	fetch = max(task.notBefore, 1)
	if fetch > t.now {
		t.wake(fetch)
	} else {
		t.fx.readyTaskKinds[task.kind] = struct{}{}
	}
	if task.deadline > 0 {
		expire = task.deadline
		t.expires(expire)
	}
	return fetch, expire
}

// expires tells parked fetches when a task will be past its deadline.
func (t *tx) expires(at provider.Time) {
	if at > t.now {
		t.wake(at)
	} else {
		t.fx.expired = true
	}
}
