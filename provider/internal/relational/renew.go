package relational

import "github.com/perdure/perdure/provider"

// RenewTasks extends leases independently of each other.
func (t *Tx) RenewTasks(req *provider.RenewTasksRequest, res *provider.RenewTasksResult) error {
	res.Items = make([]provider.TaskRenewalResult, len(req.Items))
	for i := range req.Items {
		if err := renew(t, &req.Items[i], req, &res.Items[i]); err != nil {
			return err
		}
	}
	res.Now = t.Now
	if req.Owner == "" {
		return nil
	}
	t.WakeElapsed(t.Elapsed + req.SessionLease.Microseconds()) // sessions may end then
	var err error
	if res.Sessions, err = t.Rows.ExtendSessions(req.Owner, req.SessionLease); res.Sessions > 0 {
		t.Changes++
	}
	return err
}

// renew extends one lease. A missing or ended execution takes precedence over a lost lease.
func renew(t *Tx, item *provider.TaskRenewal, req *provider.RenewTasksRequest, res *provider.TaskRenewalResult) error {
	state, h, err := t.State(item.Key, item.Execution)
	if err != nil {
		return err
	}
	res.State = state
	if state.Kind != provider.ExecutionRunning {
		return nil
	}
	task, err := t.Rows.Task(item.TaskRef)
	if err != nil {
		return err
	}
	if task == nil || !provider.SameToken(task.Token, item.Token) {
		res.Err = provider.ErrLeaseLost
		return nil
	}
	if err := useSession(t, task); err != nil {
		return err
	}
	if task.State != provider.TaskParked { // a parked task has no lease
		task.State, task.LeaseUntil = provider.TaskLeased, t.Lease(req.Lease)
		task.FetchAt, task.ExpireAt = 0, 0
	}
	t.Changes++
	t.Touch(task.Key)
	if err := t.Rows.StoreTask(task, item.Details); err != nil {
		return err
	}
	res.CancelRequested, res.Paused, res.LeaseUntil = task.Cancel, h.Status == provider.StatusSuspended, t.Wall(task.LeaseUntil)
	return nil
}
