package sqlite

import (
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlCompleteTask = `DELETE FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ? AND token = ?
		AND state <> 3`
	sqlDropTasks  = `DELETE FROM perdure_task WHERE key = ? AND execution = ?`
	sqlDropTask   = `DELETE FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
	sqlAddHandOff = `INSERT INTO perdure_task (key, execution, event_id, kind, state, deliveries, token, owner, lease_until,
		scheduled_at, not_before_at, payload, sum) VALUES (?, ?, ?, ?, 2, 1, ?, ?, ?, ?, ?, ?, ?)`
	sqlReplaceTask = `UPDATE perdure_task SET event_id = ?, kind = ?, state = 2, attempt = 1, deliveries = 1, token = ?, owner = ?, lease_until = ?,
		cancel = 0, scheduled_at = ?, not_before_at = ?, deadline_at = 0, fetch_at = NULL, expire_at = NULL, fairness_key = NULL, session = NULL,
		limit_key = NULL, payload = ?, details = NULL, failure = NULL, sum = ?, start_by_at = NULL, begun = NULL, rank_at = NULL
		WHERE key = ? AND execution = ? AND event_id = ? AND token = ? AND state <> 3`
	sqlDeadLetterTask = `INSERT INTO perdure_dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name,
		priority, reason, at, payload, fairness_key, session, limit_key)
		SELECT 1, key, ?, execution, event_id, 0, 0, ?, ?, ?, ?, ?, payload, fairness_key, session, limit_key
		FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
	sqlDropRank    = `UPDATE perdure_task SET rank_at = NULL WHERE key = ? AND execution = ? AND event_id = ?`
	sqlLeasedTasks = `SELECT key, execution, event_id, token FROM perdure_task WHERE lease_until > 0`
	sqlHoldTasks   = `UPDATE perdure_task SET fetch_at = NULL, expire_at = NULL WHERE key = ? AND state <> 2`
	sqlHeldTasks   = `SELECT key, execution, event_id FROM perdure_task WHERE key = ? AND state <> 2`
	sqlFreedTasks  = `SELECT kind FROM perdure_task WHERE key = ? AND lease_until > 0`
	// The token stays: it holds the task until another fetch takes it.
	sqlRequeueTask = `UPDATE perdure_task SET state = ?, lease_until = 0, fetch_at = ?,
		expire_at = ? WHERE key = ? AND execution = ? AND event_id = ?`
	// A task that an older release has leased has a rank, and is fetched by another moment.
	sqlLaneRanks = `SELECT coalesce(min((SELECT t.fetch_at FROM perdure_task t INDEXED BY perdure_task_fetch
			WHERE t.kind = k.id AND t.fetch_at IS NOT NULL AND t.fetch_at = t.rank_at ORDER BY t.fetch_at LIMIT 1)), 0),
		coalesce(max((SELECT t.fetch_at FROM perdure_task t INDEXED BY perdure_task_fair WHERE t.fairness_key = ?2 AND t.kind = k.id
			AND t.rank_at IS NOT NULL AND t.fetch_at IS NOT NULL ORDER BY t.fetch_at DESC LIMIT 1)), 0)
		FROM perdure_task_kind k WHERE k.queue = ?1 AND k.priority / 16 % 2 = 1`
)

// taskRows are the activity tasks.
type taskRows struct {
	*unit

	leases *leases // nil in a transaction of a caller
}

// TasksOf implements [relational.Rows].
func (t *taskRows) TasksOf(token provider.UUID) (refs []provider.TaskRef, err error) {
	err = t.each(sqlLeasedTasks, func(r *row) error {
		task := relational.Task{TaskRef: provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)}, Token: r.uuid(3)}
		if task.LeasedBy(token) {
			refs = append(refs, task.TaskRef)
		}
		return nil
	})
	return refs, err
}

// Task implements [relational.Rows].
func (t *taskRows) Task(ref provider.TaskRef) (*relational.Task, error) {
	task := &relational.Task{TaskRef: ref}
	found, err := t.one(sqlTaskRow, func(r *row) { scanTask(r, task) }, ref.Key, ref.Execution, ref.EventID)
	if err != nil {
		return nil, fmt.Errorf("perdure_task %s/%d/%d: %w", ref.Key, ref.Execution, ref.EventID, err)
	}
	if !found {
		return nil, nil //nolint:nilnil // no task is not an error
	}
	return task, nil
}

// LaneRanks implements [relational.Rows].
func (t *taskRows) LaneRanks(of relational.Lane) (waiting relational.LaneRanks, err error) {
	_, err = t.one(sqlLaneRanks, func(r *row) { waiting.First, waiting.Last = r.time(0), r.time(1) }, of.Queue, of.Key)
	return waiting, err
}

// AddTask implements [relational.Rows]. Most tasks are handed off, which takes a shorter statement.
func (t *taskRows) AddTask(task *relational.Task, stored *provider.NewTask) error {
	if task.Owner != "" {
		if err := t.enroll(task.Owner); err != nil {
			return err
		}
	}
	if task.State == provider.TaskLeased {
		t.leases.note(task.TaskRef)
	}
	simple := task.StartBy == 0 && task.Rank == 0
	plain := simple && task.Deadline == 0 && stored.FairnessKey == "" && stored.Session == "" && stored.LimitKey == ""
	sum := checksum(stored.Payload)
	if task.State == provider.TaskLeased && plain {
		err := t.do(sqlAddHandOff, task.Key, task.Execution, task.EventID, task.Kind, task.Token, task.Owner, task.LeaseUntil,
			t.Now, task.NotBefore, stored.Payload, sum)
		return doubled(err, "task", task.EventID)
	}
	add := addTask
	if !simple {
		add = addRankedTask
	}
	return doubled(add(t.unit, task, stored, t.Now, sum), "task", task.EventID)
}

// ReplaceTask implements [relational.HandOffRows].
func (t *taskRows) ReplaceTask(done provider.TaskRef, token provider.UUID, task *relational.Task, stored *provider.NewTask) (bool, error) {
	if err := t.enroll(task.Owner); err != nil {
		return false, err
	}
	t.leases.note(task.TaskRef)
	n, err := t.exec(sqlReplaceTask, task.EventID, task.Kind, task.Token, task.Owner, task.LeaseUntil, t.Now, task.NotBefore,
		stored.Payload, checksum(stored.Payload), done.Key, done.Execution, done.EventID, token)
	return n > 0, doubled(err, "task", task.EventID)
}

// doubled turns the failure of a unique index into ErrInvalid. Event IDs are given once, so a second task or timer of one event
// is a fault of the caller.
func doubled(err error, what string, event int64) error {
	if code(err)&0xff == lib.SQLITE_CONSTRAINT {
		return fmt.Errorf("event %d has a %s already: %w", event, what, provider.ErrInvalid)
	}
	return err
}

// StoreTask implements [relational.Rows].
func (t *taskRows) StoreTask(task *relational.Task, details []byte) error {
	return storeTask(t.unit, task, details)
}

// DropRank implements [relational.Rows].
func (t *taskRows) DropRank(task *relational.Task) error {
	return t.do(sqlDropRank, task.Key, task.Execution, task.EventID)
}

// RemoveTask implements [relational.Rows].
func (t *taskRows) RemoveTask(ref provider.TaskRef) error {
	return t.do(sqlDropTask, ref.Key, ref.Execution, ref.EventID)
}

// RemoveTasks implements [relational.Rows].
func (t *taskRows) RemoveTasks(key provider.UUID, execution int64) error {
	if err := t.freeTasks(key); err != nil {
		return err
	}
	return t.do(sqlDropTasks, key, execution)
}

// freeTasks reports the leased tasks of an instance as freed, before they are removed.
func (t *taskRows) freeTasks(key provider.UUID) error {
	if watched, err := t.Rows.TasksWatched(); err != nil || !watched {
		return err
	}
	return t.each(sqlFreedTasks, func(r *row) error {
		t.Free(r.int(0))
		return nil
	}, key)
}

// CompleteTask implements [relational.Rows].
func (t *taskRows) CompleteTask(ref provider.TaskRef, token provider.UUID) (bool, error) {
	n, err := t.exec(sqlCompleteTask, ref.Key, ref.Execution, ref.EventID, token)
	return n > 0, err
}

// HoldTasks implements [relational.Rows]. Leased tasks are held when their lease has expired.
func (t *taskRows) HoldTasks(key provider.UUID) error { return t.do(sqlHoldTasks, key) }

// ResumeTasks implements [relational.Rows].
func (t *taskRows) ResumeTasks(_ *relational.Effects, h *relational.Head) error {
	refs, err := t.taskRefs(sqlHeldTasks, h.Key)
	for _, ref := range refs {
		if err == nil {
			err = t.requeue(ref)
		}
	}
	return err
}

// requeue ends the lease of a task and makes it fetchable again, unless its instance is suspended.
func (t *taskRows) requeue(ref provider.TaskRef) error {
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

// DeadLetterTask implements [relational.Rows].
func (t *taskRows) DeadLetterTask(task *relational.Task, instanceID, reason string, now provider.Time) error {
	kind, err := relational.StoredTask(t.Rows, task.Kind)
	if err != nil {
		return err
	}
	return t.do(sqlDeadLetterTask, instanceID, kind.Queue, kind.Name, kind.Priority, reason, now, task.Key, task.Execution, task.EventID)
}
