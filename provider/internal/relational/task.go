package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// completeTasks ends the tasks whose results the turn consumed from memory. A single one
// is checked and removed at once, the commit's first write.
func (t *Tx) completeTasks(h *Head, list []provider.TaskCompletion) error {
	ref := func(event int64) provider.TaskRef {
		return provider.TaskRef{Key: h.Key, Execution: h.Execution, EventID: event}
	}
	lost := func(event int64) error {
		return fmt.Errorf("task %d of instance %q: %w", event, h.ID, provider.ErrLeaseLost)
	}
	if len(list) > 1 {
		for _, c := range list {
			task, err := t.Rows.Task(ref(c.EventID))
			if err != nil {
				return err
			}
			if task == nil || task.Token != c.Token || task.State == provider.TaskParked {
				return lost(c.EventID)
			}
		}
	}
	for _, c := range list {
		held, err := t.Rows.CompleteTask(ref(c.EventID), c.Token)
		if err != nil {
			return err
		}
		if !held {
			return lost(c.EventID)
		}
		t.Changes++
	}
	return nil
}

// addTask stores a task, queued or already leased to the committer.
func (t *Tx) addTask(h *Head, stored *provider.NewTask) error {
	priority := stored.Priority
	if priority == 0 {
		priority = provider.PriorityDefault
	}
	kind, err := t.taskKind(TaskKind{TaskFilter{stored.Queue, stored.Name}, int64(priority)})
	if err != nil {
		return err
	}
	task := &Task{
		TaskRef: provider.TaskRef{Key: h.Key, Execution: h.Execution, EventID: stored.EventID}, Kind: kind, State: provider.TaskQueued,
		Attempt: 1, NotBefore: t.Now.Add(stored.NotBefore),
	}
	if stored.Deadline > 0 {
		task.Deadline = t.Now.Add(stored.Deadline)
	}
	if lease := stored.Lease; lease != nil {
		task.State, task.Deliveries = provider.TaskLeased, 1
		task.Token, task.Owner, task.LeaseUntil = lease.Token, lease.Owner, t.Lease(lease.Duration)
	} else {
		t.Schedule(task, h)
	}
	t.Changes++
	return t.Rows.AddTask(task, stored)
}

// cancelTask removes a task that nobody runs, and asks the one who runs it otherwise.
func (t *Tx) cancelTask(h *Head, c provider.CancelTask) error {
	task, err := t.Rows.Task(provider.TaskRef{Key: h.Key, Execution: h.Execution, EventID: c.EventID})
	if err != nil || task == nil {
		return err
	}
	// The holder of a parked task goes on renewing and so hears of it.
	leased := task.State == provider.TaskParked || task.State == provider.TaskLeased && task.LeaseUntil > t.Elapsed
	if leased {
		t.notice(h.Key, h.Execution, c.EventID)
	}
	t.Changes++
	if leased && !c.Remove {
		task.Cancel = true
		return t.Rows.StoreTask(task, nil)
	}
	return t.Rows.RemoveTask(task.TaskRef)
}

// Schedule computes when a task that nobody has leased may be fetched, which a parked one may not,
// and when as one past its deadline, and tells the fetches that wait.
func (t *Tx) Schedule(task *Task, h *Head) {
	task.FetchAt, task.ExpireAt = 0, 0
	if h != nil && h.Status == provider.StatusSuspended {
		return
	}
	t.expires(task)
	if task.State == provider.TaskParked {
		return
	}
	task.FetchAt = max(task.NotBefore, 1)
	if task.FetchAt > t.Now {
		t.wake(task.FetchAt)
	} else {
		t.Effects.Tasks[task.Kind] = struct{}{}
	}
}

// expires tells the fetches that wait when a task will be past its deadline.
func (t *Tx) expires(task *Task) {
	if task.Deadline == 0 {
		return
	}
	task.ExpireAt = task.Deadline
	if task.Deadline > t.Now {
		t.wake(task.Deadline)
	} else {
		t.Effects.Expired = true
	}
}
