package relational

import "github.com/perdure/perdure/provider"

// SuccessionRows are rows of a store that can write a task over another one, which is cheaper than to remove one and add one.
type SuccessionRows interface {
	// SucceedTask writes a task that is handed off over one that its token holds; false if it does not.
	SucceedTask(done provider.TaskRef, token provider.UUID, task *Task, stored *provider.NewTask) (bool, error)
}

// succeedTask does what most commits do, to complete a task and hand off the next one, as one step. False: it is not that, and nothing was done.
func (t *Tx) succeedTask(h *Head, req *provider.CommitTurnRequest) (done bool, err error) {
	rows, can := t.Rows.(SuccessionRows)
	if !can || len(req.Completes) != 1 || len(req.Tasks) != 1 || len(req.CancelTasks) > 0 || !plainHandOff(&req.Tasks[0]) {
		return false, nil
	}
	if watched, err := t.Rows.TasksWatched(); err != nil || watched {
		return false, err
	}
	task, err := t.newTask(h, &req.Tasks[0], nil)
	if err != nil {
		return false, err
	}
	before := &req.Completes[0]
	held, err := rows.SucceedTask(provider.TaskRef{Key: h.Key, Execution: h.Execution, EventID: before.EventID}, before.Token, task, &req.Tasks[0])
	if err == nil && !held {
		err = lostTask(h, before.EventID)
	}
	if err != nil {
		return false, err
	}
	t.Changes++
	return true, nil
}

// plainHandOff tells whether a task is handed off and has none of what few tasks have.
func plainHandOff(task *provider.NewTask) bool {
	return task.Lease != nil && task.StartBy == 0 && task.Deadline == 0 && task.FairnessKey == "" && task.Session == "" && task.LimitKey == ""
}
