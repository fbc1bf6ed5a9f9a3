package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// taskRows are the tasks that a unit has read and changed.
type taskRows struct {
	t         *txn
	tasks     map[provider.TaskRef]*relational.Task
	heldTasks map[provider.TaskRef]struct{}
	turns     map[relational.Lane]relational.LaneRanks
}

const (
	sqlLockTasks = `SELECT w.key, w.execution, w.event_id, ` + sqlNow + `,
	t.key IS NOT NULL OR EXISTS (SELECT 1 FROM perdure.task x WHERE ` + sqlSameTask + `),
	` + sqlTaskRead + `
	FROM (SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) n (key, execution, event_id) ORDER BY 1, 2, 3) w
	LEFT JOIN LATERAL (SELECT * FROM perdure.task x WHERE ` + sqlSameTask + ` FOR UPDATE`
	sqlTasksLocked = `) t ON true`
	sqlSameTask    = `x.key = w.key AND x.execution = w.execution AND x.event_id = w.event_id`
	// No index has the token: this is for the rare fetch whose result was lost.
	sqlTasksOf = `SELECT key, execution, event_id FROM perdure.task t WHERE state = 2
		AND token IN ($1, ` + sqlTokenFrom + `$1` + sqlTokenOfTask + `) ORDER BY 1, 2, 3`
)

func (r *taskRows) queueTasks(b *pgx.Batch, refs []provider.TaskRef) {
	for _, ref := range refs {
		r.tasks[ref] = nil
	}
	c := &columns{}
	column(c, refs, func(r *provider.TaskRef) pgtype.UUID { return uuid(r.Key) })
	column(c, refs, func(r *provider.TaskRef) int64 { return r.Execution })
	column(c, refs, func(r *provider.TaskRef) int64 { return r.EventID })
	lock := sqlLockTasks
	if !r.t.wait {
		lock += sqlSkip
	}
	b.Queue(r.t.db.names.sql(lock+sqlTasksLocked), c.args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := r.readTask(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// readTask reads the result for one wanted task.
func (r *taskRows) readTask(rows pgx.Rows) error {
	const before = 5 // columns of the wanted task
	var t relational.Task
	var there bool
	args := []any{into(&t.Key), &t.Execution, &t.EventID, &r.t.now, &there}
	if rows.RawValues()[before] == nil {
		args = append(args, make([]any, len(rows.RawValues())-before)...)
		if err := rows.Scan(args...); err != nil || !there {
			return err
		}
		r.heldTasks[t.TaskRef] = struct{}{}
		return nil
	}
	err := rows.Scan(taskTargets(args, &t)...)
	r.tasks[t.TaskRef] = &t
	return err
}

// TasksOf implements [relational.Rows].
func (r *taskRows) TasksOf(token provider.UUID) ([]provider.TaskRef, error) {
	rows, err := r.t.query(sqlTasksOf, uuid(token))
	if err != nil {
		return nil, err
	}
	refs, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (ref provider.TaskRef, err error) {
		return ref, r.Scan(into(&ref.Key), &ref.Execution, &ref.EventID)
	})
	if err != nil {
		return nil, err
	}
	var more relational.Needs
	for _, ref := range refs {
		if _, known := r.tasks[ref]; !known {
			more.Keys, more.Tasks = append(more.Keys, ref.Key), append(more.Tasks, ref)
		}
	}
	if len(more.Tasks) > 0 {
		return nil, &needError{needs: more}
	}
	return refs, nil
}

// Task implements [relational.Rows].
func (r *taskRows) Task(ref provider.TaskRef) (*relational.Task, error) {
	task, known := r.tasks[ref]
	if _, held := r.heldTasks[ref]; held && task == nil {
		return nil, errHeld
	}
	if !known {
		return nil, &needError{needs: relational.Needs{Tasks: []provider.TaskRef{ref}}}
	}
	if task == nil {
		return nil, nil //nolint:nilnil // none is an answer
	}
	copied := *task
	return &copied, nil
}

// AddTask implements [relational.Rows].
func (r *taskRows) AddTask(task *relational.Task, stored *provider.NewTask) error {
	if r.tasks[task.TaskRef] != nil {
		return fmt.Errorf("event %d has a task already: %w", task.EventID, provider.ErrInvalid)
	}
	leaseEnds(task)
	r.t.ops.tasks = append(r.t.ops.tasks, newTask{*task, stored, r.t.now})
	r.setTask(task.TaskRef, task)
	if task.Rank != 0 {
		r.takeTurn(relational.Lane{Queue: stored.Queue, Key: stored.FairnessKey}, task)
	}
	return nil
}

// leaseEnds makes a leased task fetchable when its lease expires.
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
func (r *taskRows) StoreTask(task *relational.Task, details []byte) error {
	leaseEnds(task)
	r.t.ops.changed = append(r.t.ops.changed, changedTask{*task, details})
	r.setTask(task.TaskRef, task)
	return nil
}

// setTask records the new state of a task.
func (r *taskRows) setTask(ref provider.TaskRef, task *relational.Task) {
	before, known := r.tasks[ref]
	r.tasks[ref] = task
	r.t.ops.later(func() {
		delete(r.tasks, ref)
		if known {
			r.tasks[ref] = before
		}
	})
}

// RemoveTask implements [relational.Rows].
func (r *taskRows) RemoveTask(ref provider.TaskRef) error {
	ended := endedTask{TaskRef: ref, added: len(r.t.ops.tasks)}
	if task := r.tasks[ref]; task != nil {
		ended.token = task.Token
	}
	r.t.ops.ended = append(r.t.ops.ended, ended)
	r.setTask(ref, nil)
	return nil
}

// RemoveTasks implements [relational.Rows].
func (r *taskRows) RemoveTasks(key provider.UUID, execution int64) error {
	r.t.ops.noTasks = append(r.t.ops.noTasks, executionRef{key, execution})
	for ref, task := range r.tasks {
		if task != nil && ref.Key == key && ref.Execution == execution {
			r.setTask(ref, nil) // for the calls that follow in the group
		}
	}
	return nil
}

// CompleteTask implements [relational.Rows].
func (r *taskRows) CompleteTask(ref provider.TaskRef, token provider.UUID) (bool, error) {
	task, err := r.Task(ref)
	if err != nil || task == nil || task.Token != token || task.State == provider.TaskParked {
		return false, err
	}
	return true, r.RemoveTask(ref)
}

const sqlDropRank = `UPDATE perdure.task SET rank_at = 0 WHERE key = $1 AND execution = $2 AND event_id = $3`

// DropRank implements [relational.Rows].
func (r *taskRows) DropRank(task *relational.Task) error {
	rows, err := r.t.query(sqlDropRank, uuid(task.Key), task.Execution, task.EventID)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// HoldTasks implements [relational.Rows].
func (r *taskRows) HoldTasks(key provider.UUID) error {
	r.t.ops.heldTasks = append(r.t.ops.heldTasks, key)
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
func (r *taskRows) ResumeTasks(fx *relational.Effects, h *relational.Head) error {
	rows, err := r.t.query(sqlResumeTasks, uuid(h.Key))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var kind int64
		if err := rows.Scan(&kind); err != nil {
			return err
		}
		fx.Tasks[kind] = struct{}{}
	}
	return rows.Err()
}

// DeadLetterTask implements [relational.Rows].
func (r *taskRows) DeadLetterTask(task *relational.Task, instanceID, reason string, now provider.Time) error {
	kind, known := r.t.kinds.get().ByTask[task.Kind]
	if !known {
		return &needError{numbers: []int64{task.Kind}}
	}
	r.t.ops.taskDeadLetters = append(r.t.ops.taskDeadLetters, taskDeadLetter{ref: task.TaskRef, kind: kind, instance: instanceID, reason: reason, at: now})
	return nil
}

// Kinds with an odd class are ranked. A task that an older release leased keeps its rank, and is fetched at another
// time.
const sqlTurns = `SELECT w.queue, w.key,
	(SELECT coalesce(min(f.fetch_at), 0) FROM perdure.task_kind k CROSS JOIN LATERAL (SELECT t.fetch_at FROM perdure.task t
		WHERE t.kind = k.id AND t.fetch_at > 0 AND t.fetch_at = t.rank_at ORDER BY t.fetch_at LIMIT 1) f
		WHERE k.queue = w.queue AND k.priority / 16 % 2 = 1),
	(SELECT coalesce(max(l.fetch_at), 0) FROM perdure.task_kind k CROSS JOIN LATERAL (SELECT t.fetch_at FROM perdure.task t
		WHERE t.fairness_key = w.key AND t.kind = k.id AND t.rank_at > 0 AND t.fetch_at > 0 ORDER BY t.fetch_at DESC LIMIT 1) l
		WHERE k.queue = w.queue AND k.priority / 16 % 2 = 1)
	FROM unnest($1::text[], $2::text[]) w (queue, key)`

// queueTurns reads what new tasks come after.
func (r *taskRows) queueTurns(b *pgx.Batch, lanes []relational.Lane) {
	var queues, keys []string
	for _, of := range lanes {
		if _, known := r.turns[of]; !known {
			queues, keys = append(queues, of.Queue), append(keys, of.Key)
			r.turns[of] = relational.LaneRanks{}
		}
	}
	b.Queue(r.t.db.names.sql(sqlTurns), queues, keys).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var of relational.Lane
			var waiting relational.LaneRanks
			if err := rows.Scan(&of.Queue, &of.Key, &waiting.First, &waiting.Last); err != nil {
				return err
			}
			r.turns[of] = waiting
		}
		return rows.Err()
	})
}

// LaneRanks implements [relational.Rows].
func (r *taskRows) LaneRanks(of relational.Lane) (relational.LaneRanks, error) {
	waiting, known := r.turns[of]
	if !known {
		return waiting, &needError{needs: relational.Needs{Lanes: []relational.Lane{of}}}
	}
	return waiting, nil
}

// takeTurn records that a task was added to a lane, for later calls of the group.
func (r *taskRows) takeTurn(of relational.Lane, task *relational.Task) {
	before := r.turns[of]
	r.turns[of] = relational.LaneRanks{First: before.First, Last: max(before.Last, task.Rank)}
	r.t.ops.later(func() { r.turns[of] = before })
}
