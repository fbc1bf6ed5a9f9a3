package relational

import "github.com/perdure/perdure/provider"

// newTasks adds tasks to an instance.
type newTasks struct {
	t     *Tx
	h     *Head
	ranks ranks // of those that were added
}

// add stores a task, queued or already leased to the committer.
func (n *newTasks) add(stored *provider.NewTask) error {
	task, err := n.make(stored)
	if err != nil {
		return err
	}
	n.t.Changes++
	return n.t.Rows.AddTask(task, stored)
}

// make returns a task as it is to be stored.
func (n *newTasks) make(stored *provider.NewTask) (*Task, error) {
	t := n.t
	task := &Task{
		TaskRef: provider.TaskRef{Key: n.h.Key, Execution: n.h.Execution, EventID: stored.EventID}, State: provider.TaskQueued,
		Attempt: 1, NotBefore: t.Now.Add(stored.NotBefore), Session: stored.Session,
	}
	if stored.StartBy > 0 {
		task.StartBy = t.Now.Add(stored.StartBy)
	}
	if stored.Deadline > 0 {
		task.Deadline = t.Now.Add(stored.Deadline)
	}
	if err := n.classify(task, stored); err != nil {
		return nil, err
	}
	if lease := stored.Lease; lease != nil {
		task.State, task.Deliveries, task.Begun = provider.TaskLeased, 1, true
		task.Token, task.Owner, task.LeaseUntil = lease.Token, lease.Owner, t.Lease(lease.Duration)
	} else {
		t.Schedule(task, n.h)
	}
	return task, nil
}

// classify sets the kind of a new task and its rank, if it has one.
func (n *newTasks) classify(task *Task, stored *provider.NewTask) (err error) {
	kind := TaskKind{TaskFilter: TaskFilter{stored.Queue, stored.Name}, Priority: int64(stored.Priority)}
	if kind.Priority == 0 {
		kind.Priority = provider.PriorityDefault
	}
	if stored.Session != "" {
		kind.Class |= InSession
	}
	// The kind without a rank is stored first: whoever leases a ranked task needs the other kind.
	if task.Kind, err = taskNumber(n.t.Rows, kind); err != nil {
		return err
	}
	of, ranked := lane(stored)
	if !ranked {
		return nil
	}
	kind.Class |= Ranked
	if task.Kind, err = taskNumber(n.t.Rows, kind); err != nil {
		return err
	}
	task.Rank, err = n.ranks.next(n.t, of)
	return err
}

// Schedule sets when a task without a lease can be fetched, and when it is fetched as past its time. A parked task
// can only be past its time. Waiting fetches look again at those times.
func (t *Tx) Schedule(task *Task, h *Head) {
	task.FetchAt, task.ExpireAt = 0, 0
	if h != nil && h.Status == provider.StatusSuspended {
		return
	}
	scheduleExpiry(t, task)
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

func scheduleExpiry(t *Tx, task *Task) {
	task.ExpireAt = task.TimeUp()
	switch {
	case task.ExpireAt == 0:
	case task.ExpireAt > t.Now:
		t.wake(task.ExpireAt)
	default:
		t.Expired = true
	}
}

// endTaskLease records that the lease of a task ends. It is called before the task changes.
func endTaskLease(t *Tx, task *Task) error {
	if task.State == provider.TaskLeased {
		t.Free(task.Kind)
	}
	return useSession(t, task)
}

// useSession records that somebody works on a task, if it is in a session. It is called before the task changes.
func useSession(t *Tx, task *Task) error {
	if task.Session == "" {
		return nil
	}
	return t.Rows.UseSession(task)
}
