package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlUnblock = `UPDATE perdure_instance SET blocked_count = 0, blocked_reason = NULL, blocked_message = NULL,
		blocked_since = NULL WHERE key = ?`
	sqlHoldTasks   = `UPDATE perdure_task SET fetch_at = NULL, expire_at = NULL WHERE key = ? AND state = 1`
	sqlQueuedTasks = `SELECT key, execution, event_id, kind, not_before_at, deadline_at FROM perdure_task WHERE key = ? AND state = 1`
	sqlParent      = `SELECT parent_key, parent_execution, parent_event FROM perdure_instance WHERE key = ?`
	sqlAttached    = `SELECT key FROM perdure_instance WHERE parent_key = ? AND parent_close = 0`
)

// Steer implements [provider.Provider].
func (p *Provider) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	if err := req.Validate(); err != nil {
		return provider.SteerResult{}, err
	}
	size := len(req.Event) + len(req.Result)
	for _, e := range req.Events {
		size += len(e)
	}
	return write(ctx, p, "steer", size, func(t *tx, res *provider.SteerResult) error {
		h, err := t.find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if h == nil || h.deleting {
			return notFound(req.ID, req.Key)
		}
		if h.version != req.Commit {
			if err := t.steer(h, &req); err != nil {
				return err
			}
		}
		res.Now = t.now
		res.Instance, err = t.instance(h.key)
		return err
	})
}

func (t *tx) steer(h *head, req *provider.SteerRequest) error {
	if h.status.Ended() && req.Action != provider.SteerReset {
		return fmt.Errorf("instance %q (status %s): %w", h.id, h.status, provider.ErrEnded)
	}
	if req.Action == provider.SteerReset {
		if err := t.checkCurrent(h); err != nil {
			return err
		}
	}
	if req.Event != nil {
		if err := t.appendEvents(h, [][]byte{req.Event}); err != nil {
			return err
		}
	}
	var err error
	switch req.Action {
	case provider.SteerSuspend:
		h.status = provider.StatusSuspended
		_, err = t.exec(sqlHoldTasks, h.key)
	case provider.SteerResume:
		if h.status == provider.StatusSuspended {
			h.status = provider.StatusRunning
			err = t.resumeTasks(h)
		}
	case provider.SteerUnblock:
		h.blocked, h.retryAt, h.deliveries, h.notBefore = false, 0, 0, 0
		_, err = t.exec(sqlUnblock, h.key)
		t.writer.pardon(h.key)
	case provider.SteerTerminate:
		err = t.terminate(h, req)
	default:
		err = t.reset(h, req)
	}
	if err != nil {
		return err
	}
	h.version, h.updatedAt = req.Commit, t.now
	t.touchWide(h)
	return nil
}

func (t *tx) resumeTasks(h *head) error {
	tasks, err := t.taskRows(sqlQueuedTasks, h.key)
	if err != nil {
		return err
	}
	for i := range tasks {
		if err := t.requeue(&tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

// terminate ends the instance and tells its parent and its attached children.
func (t *tx) terminate(h *head, req *provider.SteerRequest) error {
	if err := t.end(h, provider.StatusTerminated, req.Result, "the instance was terminated"); err != nil {
		return err
	}
	if req.ParentNotice != nil {
		if err := t.tellParent(h, *req.ParentNotice); err != nil {
			return err
		}
	}
	if req.ChildNotice == nil {
		return nil
	}
	return t.tellChildren(h, req.ChildNotice)
}

// tellParent delivers the notice if the parent still runs the execution that started h.
func (t *tx) tellParent(h *head, notice provider.NewMessage) error {
	var key provider.UUID
	_, err := t.one(sqlParent, func(r *row) {
		key, notice.Execution, notice.EventID = r.uuid(0), r.int(1), r.int(2)
	}, h.key)
	if err != nil || key.IsZero() {
		return err
	}
	parent, err := t.head(key)
	if err != nil || parent == nil || parent.deleting || parent.status.Ended() || parent.execution != notice.Execution {
		return err
	}
	_, err = t.deliver(parent, &notice)
	return err
}

func (t *tx) tellChildren(h *head, notice *provider.NewMessage) error {
	keys, err := t.keys(sqlAttached, h.key)
	if err != nil {
		return err
	}
	for _, key := range keys {
		child, err := t.head(key)
		if err != nil {
			return err
		}
		if sendable(child, "", key) != nil {
			continue
		}
		if _, err := t.deliver(child, notice); err != nil {
			return err
		}
	}
	return nil
}

// keys collects a column of keys.
func (t *tx) keys(sql string, args ...any) (list []provider.UUID, err error) {
	err = t.each(sql, func(r *row) error {
		list = append(list, r.uuid(0))
		return nil
	}, args...)
	return list, err
}

// checkCurrent refuses to reset an instance whose ID names another one now: two would run
// under one ID.
func (t *tx) checkCurrent(h *head) error {
	other, err := t.find(h.id, provider.UUID{})
	if err == nil && other != nil && other != h {
		err = &provider.ExistsError{ID: h.id, Key: other.key, Status: other.status}
	}
	return err
}

const sqlDropResult = `UPDATE perdure_outcome SET result = NULL, sum = NULL WHERE key = ?`

// reset closes the current execution and opens the next one with the caller's events.
func (t *tx) reset(h *head, req *provider.SteerRequest) error {
	status := provider.StatusReset
	if h.status.Ended() {
		status = h.status
	}
	if err := t.closeExecution(h, status); err != nil {
		return err
	}
	if _, err := t.exec(sqlDropResult, h.key); err != nil {
		return err
	}
	kind, err := t.kindOf(h.kind)
	if err != nil {
		return err
	}
	kind.level = req.EngineLevel
	if h.kind, err = t.turnKind(kind); err != nil {
		return err
	}
	h.status, h.endedAt = provider.StatusRunning, 0
	h.execution, h.length, h.bytes = h.execution+1, 0, 0
	h.blocked, h.retryAt, h.deliveries, h.notBefore = false, 0, 0, 0
	h.stickyOwner, h.stickyUntil = "", 0
	t.endLease(h)
	if h.readyAt == 0 || h.readyAt > t.now {
		h.readyAt = t.now // so that somebody runs the new execution
	}
	return t.appendEvents(h, req.Events)
}
