package sqlite

import (
	"context"

	"github.com/perdure/perdure/provider"
)

const (
	sqlRenewal = `SELECT state, lease_until, token, cancel FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
	sqlRenew   = `UPDATE perdure_task SET state = 2, fetch_at = NULL, expire_at = NULL, lease_until = ?,
		details = coalesce(?, details) WHERE key = ? AND execution = ? AND event_id = ?`
	sqlTouch = `UPDATE perdure_task SET lease_until = ?, details = coalesce(?, details)
		WHERE key = ? AND execution = ? AND event_id = ?`
)

// RenewTasks implements [provider.Provider]. Renewals go first in the writer's queue.
func (p *Provider) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.RenewTasksResult{}, err
	}
	size := 0
	for i := range req.Items {
		size += len(req.Items[i].Details)
	}
	return enqueue(ctx, p, "renew tasks", size, true, func(t *tx, res *provider.RenewTasksResult) error {
		res.Items = make([]provider.TaskRenewalResult, len(req.Items))
		for i := range req.Items {
			if err := t.renew(&req.Items[i], micros(req.Lease), &res.Items[i]); err != nil {
				return err
			}
		}
		res.Now = t.now
		return nil
	})
}

// renew extends one lease. The order of answers is Missing, Terminal, lost, Running.
func (t *tx) renew(item *provider.TaskRenewal, lease int64, res *provider.TaskRenewalResult) error {
	state, h, err := t.state(item.Key, item.Execution)
	if err != nil {
		return err
	}
	res.State = state
	if state.Kind != provider.ExecutionRunning {
		return nil
	}
	var task heldTask
	cancel := false
	found, err := t.one(sqlRenewal, func(r *row) {
		task.state, task.until, task.token, cancel = provider.TaskState(r.int(0)), r.int(1), r.uuid(2), r.bool(3)
	}, item.Key, item.Execution, item.EventID)
	if err != nil {
		return err
	}
	if !found || task.token != item.Token {
		res.Err = provider.ErrLeaseLost
		return nil
	}
	until := int64(0) // a parked task holds no lease
	sql := sqlTouch
	if task.state != provider.TaskParked {
		sql, until = sqlRenew, t.lease(lease)
	}
	if _, err := t.exec(sql, until, item.Details, item.Key, item.Execution, item.EventID); err != nil {
		return err
	}
	res.CancelRequested, res.Paused, res.LeaseUntil = cancel, h.status == provider.StatusSuspended, t.until(until)
	return nil
}
