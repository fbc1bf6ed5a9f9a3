package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// HandOffRows is implemented by rows that can write a task over another one. That is cheaper than to remove one and
// add one.
type HandOffRows interface {
	// ReplaceTask writes a handed-off task over one that the token holds. It returns false if the token does not hold it.
	ReplaceTask(done provider.TaskRef, token provider.UUID, task *Task, stored *provider.NewTask) (bool, error)
}

// completeAndHandOff does in one step what most commits do: complete one task and hand off the next. It returns false,
// and does nothing, if the turn does something else.
func (c turnCommit) completeAndHandOff() (done bool, err error) {
	t, req := c.t, c.req
	rows, can := t.Rows.(HandOffRows)
	if !can || len(req.Completes) != 1 || len(req.Tasks) != 1 || len(req.CancelTasks) > 0 || !plainHandOff(&req.Tasks[0]) {
		return false, nil
	}
	if watched, err := t.Rows.TasksWatched(); err != nil || watched {
		return false, err
	}
	tasks := newTasks{t: t, h: c.h}
	task, err := tasks.make(&req.Tasks[0])
	if err != nil {
		return false, err
	}
	before := &req.Completes[0]
	held, err := rows.ReplaceTask(c.task(before.EventID), before.Token, task, &req.Tasks[0])
	if err == nil && !held {
		err = c.lostTask(before.EventID)
	}
	if err != nil {
		return false, err
	}
	t.Changes++
	return true, nil
}

// plainHandOff reports whether a task is handed off and uses nothing that few tasks use.
func plainHandOff(task *provider.NewTask) bool {
	return task.Lease != nil && task.StartBy == 0 && task.Deadline == 0 && task.FairnessKey == "" && task.Session == "" && task.LimitKey == ""
}

// forgetSessions forgets the ended sessions of tasks that are handed off. A session that lasts until this commit goes on: the lease of
// the task that it completes passes to the next one.
func (c turnCommit) forgetSessions() error {
	for i := range c.req.Tasks {
		task := &c.req.Tasks[i]
		if task.Lease == nil || task.Session == "" {
			continue
		}
		if err := c.t.Rows.ForgetEnded(task.Session); err != nil {
			return err
		}
	}
	return nil
}

// completeTasks ends the tasks whose results the turn consumed from memory. A single one is checked and removed in one
// step, as the first write of the commit.
func (c turnCommit) completeTasks() error {
	t, list := c.t, c.req.Completes
	if len(list) == 0 {
		return nil
	}
	watched, err := t.Rows.TasksWatched()
	if err != nil {
		return err
	}
	if len(list) > 1 || watched {
		if err := c.endTaskLeases(); err != nil {
			return err
		}
	}
	for _, done := range list {
		held, err := t.Rows.CompleteTask(c.task(done.EventID), done.Token)
		if err != nil {
			return err
		}
		if !held {
			return c.lostTask(done.EventID)
		}
		t.Changes++
	}
	return nil
}

// endTaskLeases ends the leases of all completed tasks, unless one of them is lost.
func (c turnCommit) endTaskLeases() error {
	tasks := make([]*Task, len(c.req.Completes))
	for i, done := range c.req.Completes {
		task, err := c.t.Rows.Task(c.task(done.EventID))
		if err != nil {
			return err
		}
		if task == nil || task.Token != done.Token || task.State == provider.TaskParked {
			return c.lostTask(done.EventID)
		}
		tasks[i] = task
	}
	for _, task := range tasks {
		if err := endTaskLease(c.t, task); err != nil {
			return err
		}
	}
	return nil
}

// cancelTask removes a task that nobody runs. Otherwise it asks the holder to stop.
func (c turnCommit) cancelTask(cancel provider.CancelTask) error {
	t := c.t
	task, err := t.Rows.Task(c.task(cancel.EventID))
	if err != nil || task == nil {
		return err
	}
	// The holder of a parked task continues to renew it, and so learns of the cancellation.
	leased := task.State == provider.TaskParked || task.State == provider.TaskLeased && task.LeaseUntil > t.Elapsed
	if leased {
		t.notice(c.h.Key, c.h.Execution, cancel.EventID)
	}
	t.Changes++
	if leased && !cancel.Remove {
		task.Cancel = true
		return t.Rows.StoreTask(task, nil)
	}
	t.Free(task.Kind)
	return t.Rows.RemoveTask(task.TaskRef)
}

// task names a task of the execution.
func (c turnCommit) task(event int64) provider.TaskRef {
	return provider.TaskRef{Key: c.h.Key, Execution: c.h.Execution, EventID: event}
}

func (c turnCommit) lostTask(event int64) error {
	return fmt.Errorf("task %d of instance %q: %w", event, c.h.ID, provider.ErrLeaseLost)
}
