package relational

import (
	"errors"

	"github.com/perdure/perdure/provider"
)

// Holds reports whether a token may report this outcome. A token holds a task until somebody else leases it, even if
// its lease expired. A parked task accepts only outcomes that end its attempt.
func (task *Task) Holds(item *provider.TaskReport) bool {
	if !provider.SameToken(task.Token, item.Token) || task.Attempt != item.Attempt {
		return false
	}
	switch item.Outcome {
	case provider.TaskComplete, provider.TaskRetry, provider.TaskPoison:
		return true
	default:
		return task.State != provider.TaskParked
	}
}

// LeasedBy reports whether a token leases the task: its own, or that of the fetch that leased it.
func (task *Task) LeasedBy(token provider.UUID) bool {
	return task.Token == token || task.Token == provider.TaskToken(token, task.TaskRef)
}

// ReportTasks applies reports independently of each other.
func (t *Tx) ReportTasks(req *provider.ReportTasksRequest, res *provider.ReportTasksResult) error {
	res.Items = make([]provider.TaskReportResult, len(req.Items))
	for i := range req.Items {
		var err error
		if req.Items[i].Outcome == provider.TaskReleaseAll {
			err = releaseTasks(t, &req.Items[i])
		} else {
			res.Items[i], err = t.Report(&req.Items[i])
		}
		if err != nil {
			return err
		}
	}
	res.Now = t.Now
	return nil
}

// releaseTasks ends the unexpired leases that a token holds.
func releaseTasks(t *Tx, item *provider.TaskReport) error {
	refs, err := t.Rows.TasksOf(item.Token)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		_, h, err := t.State(ref.Key, ref.Execution)
		if err != nil {
			return err
		}
		task, err := t.Rows.Task(ref)
		if err != nil {
			return err
		}
		if task == nil || !task.LeasedBy(item.Token) || task.State != provider.TaskLeased || task.LeaseUntil <= t.Elapsed {
			continue
		}
		t.Changes++
		t.Touch(task.Key)
		if err := endTaskLease(t, task); err != nil {
			return err
		}
		if err := (report{t, h, task, item}).release(); err != nil {
			return err
		}
	}
	return nil
}

// Report applies one report. A refusal is in the result; an error is the storage's.
func (t *Tx) Report(item *provider.TaskReport) (res provider.TaskReportResult, err error) {
	state, h, err := t.State(item.Key, item.Execution)
	if err != nil {
		return res, err
	}
	res.State = state
	task, err := t.Rows.Task(item.TaskRef)
	if err != nil {
		return res, err
	}
	if task == nil || !task.Holds(item) {
		res.Err = provider.ErrLeaseLost
		return res, nil
	}
	if state.Kind == provider.ExecutionMissing {
		if err := t.checkMoved(item.Key); errors.Is(err, provider.ErrMoved) {
			res.Err = err
			return res, nil
		} else if err != nil {
			return res, err
		}
	}
	t.Changes++
	t.Touch(task.Key)
	if err := endTaskLease(t, task); err != nil {
		return res, err
	}
	return res, report{t, h, task, item}.apply(state.Kind == provider.ExecutionRunning)
}

// report is a report by the holder of its task. The head is nil if the instance is gone.
type report struct {
	t    *Tx
	h    *Head
	task *Task
	item *provider.TaskReport
}

// apply stores the outcome. Running says that the execution still accepts results.
func (r report) apply(running bool) error {
	switch r.item.Outcome {
	case provider.TaskComplete, provider.TaskPoison:
		return r.complete(running)
	case provider.TaskRetry:
		r.task.Attempt, r.task.Deliveries, r.task.Begun = r.task.Attempt+1, 0, true
		r.task.Failure = append([]byte{}, r.item.Failure...) // not nil, which would keep that of an earlier attempt
		return r.requeue()
	case provider.TaskPark:
		return r.park()
	case provider.TaskDiscard:
		if !running {
			return r.t.Rows.RemoveTask(r.task.TaskRef)
		}
		return r.release()
	default:
		return r.release()
	}
}

// complete removes the task, and delivers its result if the execution is running.
func (r report) complete(running bool) error {
	if r.item.Outcome == provider.TaskPoison {
		id := ""
		if r.h != nil {
			id = r.h.ID
		}
		if err := r.t.Rows.DeadLetterTask(r.task, id, r.item.Reason, r.t.Now); err != nil {
			return err
		}
	}
	if err := r.t.Rows.RemoveTask(r.task.TaskRef); err != nil {
		return err
	}
	if !running {
		return nil
	}
	_, err := inbox{r.t, r.h}.deliver(&r.item.Message)
	return err
}

// park keeps the task for its holder without a lease.
func (r report) park() error {
	task := r.task
	task.State, task.Owner, task.LeaseUntil, task.Begun = provider.TaskParked, "", 0, r.item.Limit == 0
	if r.item.Limit > 0 {
		task.StartBy = r.t.Now.Add(r.item.Limit)
	}
	r.t.Schedule(task, r.h)
	return r.t.Rows.StoreTask(task, r.item.Details)
}

// release gives the delivery back. If it was the first and no code ran, the task has not begun. Once code ran, StartBy
// is cleared so that no later release restores it.
func (r report) release() error {
	task := r.task
	task.Deliveries = max(task.Deliveries-1, 0)
	task.Begun = r.item.Begun || task.Begun && (task.Attempt > 1 || task.Deliveries > 0)
	if r.item.Begun {
		task.StartBy = 0
	}
	return r.requeue()
}

// requeue queues the task again.
func (r report) requeue() error {
	t, task := r.t, r.task
	task.State, task.Token, task.Owner, task.LeaseUntil = provider.TaskQueued, provider.UUID{}, "", 0
	task.NotBefore = t.Now
	if !task.Cancel { // a cancelled task ends without a delay
		task.NotBefore = t.Now.Add(r.item.Delay)
	}
	t.Schedule(task, r.h)
	return t.Rows.StoreTask(task, r.item.Details)
}
