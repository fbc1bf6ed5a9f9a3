package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlHeldTask = `SELECT kind, state, attempt, lease_until, not_before_at, deadline_at, token FROM perdure_task
		WHERE key = ? AND execution = ? AND event_id = ?`
	sqlRetryTask = `UPDATE perdure_task SET state = 1, token = NULL, owner = NULL, lease_until = 0, attempt = attempt + 1,
		deliveries = 0, failure = ?, details = coalesce(?, details), not_before_at = ?, fetch_at = ?, expire_at = ?
		WHERE key = ? AND execution = ? AND event_id = ?`
	sqlReleaseTask = `UPDATE perdure_task SET state = 1, token = NULL, owner = NULL, lease_until = 0,
		deliveries = max(deliveries - 1, 0), details = coalesce(?, details), not_before_at = ?, fetch_at = ?, expire_at = ?
		WHERE key = ? AND execution = ? AND event_id = ?`
	sqlParkTask = `UPDATE perdure_task SET state = 3, owner = NULL, lease_until = 0, details = coalesce(?, details),
		fetch_at = NULL, expire_at = ? WHERE key = ? AND execution = ? AND event_id = ?`
	sqlBuryTask = `INSERT INTO perdure_dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name,
		priority, reason, at, payload) SELECT 1, key, ?, execution, event_id, 0, 0, ?, ?, ?, ?, ?, payload
		FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
)

// ReportTasks implements [provider.Provider].
func (p *Provider) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.ReportTasksResult{}, err
	}
	size := 0
	for i := range req.Items {
		size += len(req.Items[i].Message.Payload) + len(req.Items[i].Details) + len(req.Items[i].Failure)
	}
	return write(ctx, p, "report tasks", size, func(t *tx, res *provider.ReportTasksResult) error {
		res.Items = make([]provider.TaskReportResult, len(req.Items))
		for i := range req.Items {
			var err error
			if res.Items[i], err = t.report(&req.Items[i]); err != nil {
				return err
			}
		}
		res.Now = t.now
		return nil
	})
}

// heldTask is a task as its reporter finds it.
type heldTask struct {
	taskRow
	state   provider.TaskState
	attempt int64
	until   int64
	token   provider.UUID
}

// holds tells whether a token may do this to the task. A token holds a task until somebody
// else takes it, whether its lease has lapsed or not; a parked task goes by its token, too.
func (h *heldTask) holds(item *provider.TaskReport) bool {
	if h.token != item.Token || h.attempt != item.Attempt {
		return false
	}
	switch item.Outcome {
	case provider.TaskComplete, provider.TaskRetry, provider.TaskPoison:
		return true
	default:
		return h.state != provider.TaskParked
	}
}

// held reads a task; false if it is gone.
func (t *tx) held(ref provider.TaskRef) (h heldTask, found bool, err error) {
	h.TaskRef = ref
	found, err = t.one(sqlHeldTask, func(r *row) {
		h.kind, h.state, h.attempt, h.until = r.int(0), provider.TaskState(r.int(1)), r.int(2), r.int(3)
		h.notBefore, h.deadline, h.token = r.time(4), r.time(5), r.uuid(6)
	}, ref.Key, ref.Execution, ref.EventID)
	if err != nil {
		err = fmt.Errorf("perdure_task %s/%d/%d: %w", ref.Key, ref.Execution, ref.EventID, err)
	}
	return h, found, err
}

// report applies one item. Its refusal is in the result; an error is the storage's.
func (t *tx) report(item *provider.TaskReport) (res provider.TaskReportResult, err error) {
	state, head, err := t.state(item.Key, item.Execution)
	if err != nil {
		return res, err
	}
	res.State = state
	task, found, err := t.held(item.TaskRef)
	if err != nil {
		return res, err
	}
	if !found || !task.holds(item) {
		res.Err = provider.ErrLeaseLost
		return res, nil
	}
	running := state.Kind == provider.ExecutionRunning
	switch item.Outcome {
	case provider.TaskComplete, provider.TaskPoison:
		err = t.completeReported(head, &task, item, running)
	case provider.TaskRetry:
		task.notBefore = t.now.Add(item.Delay)
		err = t.requeueReported(head, &task, sqlRetryTask, failureOf(item.Failure), item.Details)
	case provider.TaskPark:
		var expire provider.Time
		if task.deadline > 0 {
			expire = task.deadline
			t.expires(expire)
		}
		_, err = t.exec(sqlParkTask, item.Details, timeOrNull(expire), item.Key, item.Execution, item.EventID)
	case provider.TaskDiscard:
		if !running {
			_, err = t.exec(sqlDropTask, item.Key, item.Execution, item.EventID)
			break
		}
		err = t.release(head, &task, item)
	default:
		err = t.release(head, &task, item)
	}
	return res, err
}

func failureOf(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

func (t *tx) release(h *head, task *heldTask, item *provider.TaskReport) error {
	task.notBefore = t.now.Add(item.Delay)
	fetch, expire := t.schedule(&task.taskRow, h)
	_, err := t.exec(sqlReleaseTask, item.Details, task.notBefore, timeOrNull(fetch), timeOrNull(expire),
		task.Key, task.Execution, task.EventID)
	return err
}

func (t *tx) requeueReported(h *head, task *heldTask, sql string, failure any, details []byte) error {
	fetch, expire := t.schedule(&task.taskRow, h)
	_, err := t.exec(sql, failure, details, task.notBefore, timeOrNull(fetch), timeOrNull(expire),
		task.Key, task.Execution, task.EventID)
	return err
}

// completeReported removes the task and gives its result to the instance if that still runs.
func (t *tx) completeReported(h *head, task *heldTask, item *provider.TaskReport, running bool) error {
	if item.Outcome == provider.TaskPoison {
		if err := t.loadKinds(); err != nil {
			return err
		}
		kind, id := t.kinds.byTask[task.kind], ""
		if h != nil {
			id = h.id
		}
		_, err := t.exec(sqlBuryTask, id, kind.queue, kind.name, kind.priority, item.Reason, t.now,
			task.Key, task.Execution, task.EventID)
		if err != nil {
			return err
		}
	}
	if _, err := t.exec(sqlDropTask, task.Key, task.Execution, task.EventID); err != nil {
		return err
	}
	if !running {
		return nil
	}
	_, err := t.deliver(h, &item.Message)
	return err
}
