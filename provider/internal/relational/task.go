package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// completeTasks ends the tasks whose results the turn consumed from memory. A single one
// is checked and removed at once, the commit's first write.
func (t *Tx) completeTasks(h *Head, list []provider.TaskCompletion) error {
	if len(list) == 0 {
		return nil
	}
	ref := func(event int64) provider.TaskRef {
		return provider.TaskRef{Key: h.Key, Execution: h.Execution, EventID: event}
	}
	watched, err := t.Rows.TasksWatched()
	if err != nil {
		return err
	}
	if len(list) > 1 || watched {
		tasks := make([]*Task, len(list))
		for i, c := range list {
			task, err := t.Rows.Task(ref(c.EventID))
			if err != nil {
				return err
			}
			if task == nil || task.Token != c.Token || task.State == provider.TaskParked {
				return lostTask(h, c.EventID)
			}
			tasks[i] = task
		}
		for _, task := range tasks {
			if err := t.endLease(task); err != nil {
				return err
			}
		}
	}
	for _, c := range list {
		held, err := t.Rows.CompleteTask(ref(c.EventID), c.Token)
		if err != nil {
			return err
		}
		if !held {
			return lostTask(h, c.EventID)
		}
		t.Changes++
	}
	return nil
}

func lostTask(h *Head, event int64) error {
	return fmt.Errorf("task %d of instance %q: %w", event, h.ID, provider.ErrLeaseLost)
}

// addTask stores a task, queued or already leased to the committer.
func (t *Tx) addTask(h *Head, stored *provider.NewTask, turns *turns) error {
	task, err := t.newTask(h, stored, turns)
	if err != nil {
		return err
	}
	t.Changes++
	return t.Rows.AddTask(task, stored)
}

// newTask makes a task as it is to be stored.
func (t *Tx) newTask(h *Head, stored *provider.NewTask, turns *turns) (*Task, error) {
	task := &Task{
		TaskRef: provider.TaskRef{Key: h.Key, Execution: h.Execution, EventID: stored.EventID}, State: provider.TaskQueued,
		Attempt: 1, NotBefore: t.Now.Add(stored.NotBefore), Session: stored.Session,
	}
	if stored.StartBy > 0 {
		task.StartBy = t.Now.Add(stored.StartBy)
	}
	if stored.Deadline > 0 {
		task.Deadline = t.Now.Add(stored.Deadline)
	}
	if err := t.classify(task, stored, turns); err != nil {
		return nil, err
	}
	if lease := stored.Lease; lease != nil {
		task.State, task.Deliveries, task.Begun = provider.TaskLeased, 1, true
		task.Token, task.Owner, task.LeaseUntil = lease.Token, lease.Owner, t.Lease(lease.Duration)
	} else {
		t.Schedule(task, h)
	}
	return task, nil
}

// classify finds the kind of a new task and, if it has a turn, its rank.
func (t *Tx) classify(task *Task, stored *provider.NewTask, turns *turns) (err error) {
	kind := TaskKind{TaskFilter: TaskFilter{stored.Queue, stored.Name}, Priority: int64(stored.Priority)}
	if kind.Priority == 0 {
		kind.Priority = provider.PriorityDefault
	}
	if stored.Session != "" {
		kind.Class |= InSession
	}
	// The kind without a rank comes first, so that whoever knows the other one can lease a task of it.
	if task.Kind, err = t.taskKind(kind); err != nil {
		return err
	}
	of, ranked := lane(stored)
	if !ranked {
		return nil
	}
	kind.Class |= Ranked
	if task.Kind, err = t.taskKind(kind); err != nil {
		return err
	}
	task.Rank, err = turns.take(t, of)
	return err
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
	t.Free(task.Kind)
	return t.Rows.RemoveTask(task.TaskRef)
}

// Schedule computes when a task that nobody has leased may be fetched, which a parked one may not,
// and when as one past its time, and tells the fetches that wait.
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
	if task.Rank != 0 {
		task.FetchAt = task.Rank
	}
}

// expires tells the fetches that wait when a task will be past its time.
func (t *Tx) expires(task *Task) {
	task.ExpireAt = task.TimeUp()
	switch {
	case task.ExpireAt == 0:
	case task.ExpireAt > t.Now:
		t.wake(task.ExpireAt)
	default:
		t.Effects.Expired = true
	}
}
