package postgres

import (
	"fmt"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// AddTask implements [relational.Rows].
func (u *unit) AddTask(task *relational.Task, stored *provider.NewTask) error {
	if u.tasks[task.TaskRef] != nil {
		return fmt.Errorf("event %d has a task already: %w", task.EventID, provider.ErrInvalid)
	}
	leaseEnds(task)
	u.ops.tasks = append(u.ops.tasks, newTask{*task, stored, u.now})
	u.remember(task.TaskRef, task)
	if task.Rank != 0 {
		u.takeTurn(relational.Lane{Queue: stored.Queue, Key: stored.FairnessKey}, task)
	}
	return nil
}

// leaseEnds makes a leased task fetchable when its lease is over.
func leaseEnds(task *relational.Task) {
	if task.State != provider.TaskLeased || task.LeaseUntil == 0 {
		return
	}
	over := provider.Time(task.LeaseUntil)
	task.FetchAt, task.ExpireAt = max(over, task.NotBefore), 0
	if end := task.TimeUp(); end > 0 {
		task.ExpireAt = max(end, over)
	}
}

// StoreTask implements [relational.Rows].
func (u *unit) StoreTask(task *relational.Task, details []byte) error {
	leaseEnds(task)
	u.ops.changed = append(u.ops.changed, changedTask{*task, details})
	u.remember(task.TaskRef, task)
	return nil
}

// remember notes what a task has become.
func (u *unit) remember(ref provider.TaskRef, task *relational.Task) {
	before, known := u.tasks[ref]
	u.tasks[ref] = task
	u.ops.later(func() {
		delete(u.tasks, ref)
		if known {
			u.tasks[ref] = before
		}
	})
}

// RemoveTask implements [relational.Rows].
func (u *unit) RemoveTask(ref provider.TaskRef) error {
	ended := endedTask{TaskRef: ref}
	if task := u.tasks[ref]; task != nil {
		ended.token = task.Token
	}
	u.ops.ended = append(u.ops.ended, ended)
	u.remember(ref, nil)
	return nil
}

// RemoveTasks implements [relational.Rows].
func (u *unit) RemoveTasks(key provider.UUID, execution int64) error {
	u.ops.noTasks = append(u.ops.noTasks, executionRef{key, execution})
	return nil
}

// CompleteTask implements [relational.Rows].
func (u *unit) CompleteTask(ref provider.TaskRef, token provider.UUID) (bool, error) {
	task, err := u.Task(ref)
	if err != nil || task == nil || task.Token != token || task.State == provider.TaskParked {
		return false, err
	}
	return true, u.RemoveTask(ref)
}

// HoldTasks implements [relational.Rows].
func (u *unit) HoldTasks(key provider.UUID) error {
	u.ops.heldTasks = append(u.ops.heldTasks, key)
	return nil
}

const sqlResumeTasks = `UPDATE perdure.task t SET
	fetch_at = CASE WHEN state = 3 THEN 0 WHEN state = 2 THEN greatest(not_before_at, lease_until) WHEN rank_at > 0 THEN rank_at
		ELSE greatest(not_before_at, 1) END,
	expire_at = CASE WHEN e.at IS NULL THEN 0 WHEN state = 2 THEN greatest(e.at, lease_until) ELSE e.at END
	FROM (SELECT execution, event_id, least(nullif(deadline_at, 0), CASE WHEN NOT begun THEN nullif(start_by_at, 0) END) AS at
		FROM perdure.task WHERE key = $1) e
	WHERE t.key = $1 AND t.execution = e.execution AND t.event_id = e.event_id RETURNING t.kind`

// ResumeTasks implements [relational.Rows].
func (u *unit) ResumeTasks(t *relational.Tx, h *relational.Head) error {
	rows, err := u.query(sqlResumeTasks, uuid(h.Key))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var kind int64
		if err := rows.Scan(&kind); err != nil {
			return err
		}
		t.Effects.Tasks[kind] = struct{}{}
	}
	return rows.Err()
}

// BuryTask implements [relational.Rows].
func (u *unit) BuryTask(task *relational.Task, instanceID, reason string, now provider.Time) error {
	kind := u.p.kinds.get().ByTask[task.Kind]
	u.ops.buried = append(u.ops.buried, taskLetter{ref: task.TaskRef, kind: kind, instance: instanceID, reason: reason, at: now})
	return nil
}
