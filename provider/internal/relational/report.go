package relational

import (
	"github.com/perdure/perdure/provider"
)

// Holds tells whether a token may do this to the task. A token holds a task until somebody
// else takes it, whether its lease has lapsed or not; a parked task goes by its token, too.
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

// ReportTasks applies reports, each for itself.
func (t *Tx) ReportTasks(req *provider.ReportTasksRequest, res *provider.ReportTasksResult) error {
	res.Items = make([]provider.TaskReportResult, len(req.Items))
	for i := range req.Items {
		var err error
		if req.Items[i].TaskRef == (provider.TaskRef{}) {
			err = t.releaseTasks(&req.Items[i])
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
func (t *Tx) releaseTasks(item *provider.TaskReport) error {
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
		if err := t.endLease(task); err != nil {
			return err
		}
		if err := t.release(h, task, item); err != nil {
			return err
		}
	}
	return nil
}

// Report applies one item. Its refusal is in the result; an error is the storage's.
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
	t.Changes++
	if err := t.endLease(task); err != nil {
		return res, err
	}
	running := state.Kind == provider.ExecutionRunning
	switch item.Outcome {
	case provider.TaskComplete, provider.TaskPoison:
		err = t.completeReported(h, task, item, running)
	case provider.TaskRetry:
		task.Attempt, task.Deliveries, task.Begun = task.Attempt+1, 0, true
		task.Failure = append([]byte{}, item.Failure...) // not nil, which would keep that of an earlier attempt
		err = t.requeueReported(h, task, item)
	case provider.TaskPark:
		task.State, task.Owner, task.LeaseUntil, task.Begun = provider.TaskParked, "", 0, item.Limit == 0
		if item.Limit > 0 {
			task.StartBy = t.Now.Add(item.Limit)
		}
		t.Schedule(task, h)
		err = t.Rows.StoreTask(task, item.Details)
	case provider.TaskDiscard:
		if !running {
			err = t.Rows.RemoveTask(task.TaskRef)
			break
		}
		err = t.release(h, task, item)
	default:
		err = t.release(h, task, item)
	}
	return res, err
}

// release gives the delivery back. If that was the first and no code ran, the task has not begun. Once code
// ran the task needs no StartBy, so that no later release brings it back.
func (t *Tx) release(h *Head, task *Task, item *provider.TaskReport) error {
	task.Deliveries = max(task.Deliveries-1, 0)
	task.Begun = item.Begun || task.Begun && (task.Attempt > 1 || task.Deliveries > 0)
	if item.Begun {
		task.StartBy = 0
	}
	return t.requeueReported(h, task, item)
}

// requeueReported queues the task again, held by nobody.
func (t *Tx) requeueReported(h *Head, task *Task, item *provider.TaskReport) error {
	task.State, task.Token, task.Owner, task.LeaseUntil = provider.TaskQueued, provider.UUID{}, "", 0
	task.NotBefore = t.Now
	if !task.Cancel { // who waits for the end of a cancelled one does not wait for a delay
		task.NotBefore = t.Now.Add(item.Delay)
	}
	t.Schedule(task, h)
	return t.Rows.StoreTask(task, item.Details)
}

// completeReported removes the task and gives its result to the instance if that still runs.
func (t *Tx) completeReported(h *Head, task *Task, item *provider.TaskReport, running bool) error {
	if item.Outcome == provider.TaskPoison {
		id := ""
		if h != nil {
			id = h.ID
		}
		if err := t.Rows.BuryTask(task, id, item.Reason, t.Now); err != nil {
			return err
		}
	}
	if err := t.Rows.RemoveTask(task.TaskRef); err != nil {
		return err
	}
	if !running {
		return nil
	}
	_, err := t.deliver(h, &item.Message)
	return err
}

// RenewTasks extends leases, each for itself.
func (t *Tx) RenewTasks(req *provider.RenewTasksRequest, res *provider.RenewTasksResult) error {
	res.Items = make([]provider.TaskRenewalResult, len(req.Items))
	for i := range req.Items {
		if err := t.renew(&req.Items[i], req, &res.Items[i]); err != nil {
			return err
		}
	}
	res.Now = t.Now
	if req.Owner == "" {
		return nil
	}
	t.sessionEnds(req.SessionLease)
	var err error
	if res.Sessions, err = t.Rows.ExtendSessions(req.Owner, req.SessionLease); res.Sessions > 0 {
		t.Changes++
	}
	return err
}

// renew extends one lease. The order of answers is Missing, Terminal, lost, Running.
func (t *Tx) renew(item *provider.TaskRenewal, req *provider.RenewTasksRequest, res *provider.TaskRenewalResult) error {
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
	if err := t.use(task); err != nil {
		return err
	}
	if task.State != provider.TaskParked { // a parked task holds no lease
		task.State, task.LeaseUntil = provider.TaskLeased, t.Lease(req.Lease)
		task.FetchAt, task.ExpireAt = 0, 0
	}
	t.Changes++
	if err := t.Rows.StoreTask(task, item.Details); err != nil {
		return err
	}
	res.CancelRequested, res.Paused, res.LeaseUntil = task.Cancel, h.Status == provider.StatusSuspended, t.Wall(task.LeaseUntil)
	return nil
}

// ReleaseTurns ends turn leases, each for itself.
func (t *Tx) ReleaseTurns(req *provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult) error {
	res.Errs = make([]error, len(req.Items))
	for i := range req.Items {
		if req.Items[i].Key.IsZero() {
			if err := t.releaseAll(req.Items[i]); err != nil {
				return err
			}
			continue
		}
		if owner := req.Items[i].Owner; owner != "" {
			if err := t.unstick(req.Items[i].Key, owner); err != nil {
				return err
			}
			continue
		}
		held, err := t.ReleaseTurn(&req.Items[i])
		if err != nil {
			return err
		}
		if !held {
			res.Errs[i] = provider.ErrLeaseLost
		}
	}
	return nil
}

// releaseAll ends the unexpired leases that a token holds.
func (t *Tx) releaseAll(item provider.TurnRelease) error {
	keys, err := t.Rows.TurnsOf(item.Token)
	if err != nil {
		return err
	}
	for _, item.Key = range keys {
		h, err := t.Head(item.Key)
		if err != nil {
			return err
		}
		if h == nil || h.LeaseUntil <= t.Elapsed {
			continue
		}
		if _, err := t.ReleaseTurn(&item); err != nil {
			return err
		}
	}
	return nil
}

// unstick ends the stickiness of an instance, if owner has it.
func (t *Tx) unstick(key provider.UUID, owner string) error {
	h, err := t.Head(key)
	if err != nil || h == nil || h.StickyOwner != owner {
		return err
	}
	h.StickyOwner, h.StickyUntil = "", 0
	t.touch(h)
	return nil
}

// ReleaseTurn ends one lease; false if the token does not hold it.
func (t *Tx) ReleaseTurn(item *provider.TurnRelease) (bool, error) {
	h, err := t.Head(item.Key)
	if err != nil {
		return false, err
	}
	if h == nil || h.LeaseToken != item.Token {
		return false, nil
	}
	t.EndLease(h)
	h.StickyOwner, h.StickyUntil, h.NotBefore = "", 0, 0
	at := t.Now.Add(item.Delay)
	if item.Failure == nil {
		h.Deliveries = max(h.Deliveries-1, 0)
		if item.Delay > 0 {
			h.NotBefore = at
		}
		return true, nil
	}
	if err := t.Rows.Block(h.Key, item.Failure, t.Now, !h.Blocked); err != nil {
		return false, err
	}
	h.Blocked, h.RetryAt = true, at
	if item.Failure.Hold {
		h.RetryAt = 0
	}
	t.News(h.Key)
	return true, nil
}
