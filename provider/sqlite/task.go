package sqlite

import (
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
)

const (
	sqlTaskHolder = `SELECT 1 FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ? AND token = ?
		AND state <> 3`
	sqlCompleteTask = `DELETE FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ? AND token = ?
		AND state <> 3`
	sqlDropTasks  = `DELETE FROM perdure_task WHERE key = ? AND execution = ?`
	sqlDropTask   = `DELETE FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
	sqlTaskState  = `SELECT state, lease_until FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
	sqlFlagTask   = `UPDATE perdure_task SET cancel = 1 WHERE key = ? AND execution = ? AND event_id = ?`
	sqlAddHandOff = `INSERT INTO perdure_task (key, execution, event_id, kind, state, deliveries, token, owner, lease_until,
		scheduled_at, not_before_at, payload, sum) VALUES (?, ?, ?, ?, 2, 1, ?, ?, ?, ?, ?, ?, ?)`
	sqlAddTask = `INSERT INTO perdure_task (key, execution, event_id, kind, state, deliveries, token, owner, lease_until,
		scheduled_at, not_before_at, deadline_at, fetch_at, expire_at, fairness_key, session, limit_key, payload, sum)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// completeTasks ends the tasks whose results the turn consumed from memory. A single one
// is checked and removed in one statement, the commit's first write.
func (t *tx) completeTasks(h *head, list []provider.TaskCompletion) error {
	lost := func(event int64) error {
		return fmt.Errorf("task %d of instance %q: %w", event, h.id, provider.ErrLeaseLost)
	}
	if len(list) > 1 {
		for _, c := range list {
			n, err := t.integer(sqlTaskHolder, h.key, h.execution, c.EventID, c.Token)
			if err != nil {
				return err
			}
			if n == 0 {
				return lost(c.EventID)
			}
		}
	}
	for _, c := range list {
		n, err := t.exec(sqlCompleteTask, h.key, h.execution, c.EventID, c.Token)
		if err != nil {
			return err
		}
		if n == 0 {
			return lost(c.EventID)
		}
	}
	return nil
}

// addTask stores a task, queued or already leased to the committer.
func (t *tx) addTask(h *head, task *provider.NewTask) error {
	priority := task.Priority
	if priority == 0 {
		priority = provider.PriorityDefault
	}
	kind, err := t.taskKind(taskKind{taskFilter{task.Queue, task.Name}, int64(priority)})
	if err != nil {
		return err
	}
	row := taskRow{kind: kind, notBefore: t.now.Add(task.NotBefore)}
	if task.Deadline > 0 {
		row.deadline = t.now.Add(task.Deadline)
	}
	lease := task.Lease
	if lease != nil {
		if err := t.enroll(lease.Owner); err != nil {
			return err
		}
	}
	if lease != nil && task.Deadline == 0 && task.FairnessKey == "" && task.Session == "" && task.LimitKey == "" {
		_, err = t.exec(sqlAddHandOff, h.key, h.execution, task.EventID, kind, lease.Token, lease.Owner,
			t.lease(micros(lease.Duration)), t.now, row.notBefore, task.Payload, checksum(task.Payload))
		return doubled(err, "task", task.EventID)
	}
	state, deliveries := provider.TaskQueued, 0
	var token provider.UUID
	var owner any
	var until int64
	var fetch, expire provider.Time
	if lease == nil {
		fetch, expire = t.schedule(&row, h)
	} else {
		state, deliveries, token, owner, until = provider.TaskLeased, 1, lease.Token, lease.Owner, t.lease(micros(lease.Duration))
	}
	_, err = t.exec(sqlAddTask, h.key, h.execution, task.EventID, kind, int64(state), deliveries, token, owner, until,
		t.now, row.notBefore, row.deadline, timeOrNull(fetch), timeOrNull(expire), textOrNull(task.FairnessKey),
		textOrNull(task.Session), textOrNull(task.LimitKey), task.Payload, checksum(task.Payload))
	return doubled(err, "task", task.EventID)
}

// doubled turns the failure of a unique index into an answer: event IDs are given once, so
// a second task or timer of one event is a fault of the caller.
func doubled(err error, what string, event int64) error {
	if code(err)&0xff == lib.SQLITE_CONSTRAINT {
		return fmt.Errorf("event %d has a %s already: %w", event, what, provider.ErrInvalid)
	}
	return err
}

// cancelTask removes a task that nobody runs, and asks the one who runs it otherwise.
func (t *tx) cancelTask(h *head, c provider.CancelTask) error {
	var state provider.TaskState
	var until int64
	_, err := t.one(sqlTaskState, func(r *row) { state, until = provider.TaskState(r.int(0)), r.int(1) }, h.key, h.execution, c.EventID)
	if err != nil || state == 0 {
		return err
	}
	// The holder of a parked task goes on renewing and so hears of it.
	leased := state == provider.TaskParked || state == provider.TaskLeased && until > t.elapsed
	sql := sqlDropTask
	if leased && !c.Remove {
		sql = sqlFlagTask
	}
	if leased {
		t.notice(h.key, h.execution, c.EventID)
	}
	_, err = t.exec(sql, h.key, h.execution, c.EventID)
	return err
}

// isRefusal tells whether a start was refused for a reason that its parent is told.
func isRefusal(err error) bool {
	return errors.Is(err, provider.ErrExists) || errors.Is(err, provider.ErrNotFound)
}
