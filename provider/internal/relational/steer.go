package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Steer changes an instance from outside.
func (t *Tx) Steer(req *provider.SteerRequest, res *provider.SteerResult) error {
	h, err := t.Find(req.ID, req.Key)
	if err != nil {
		return err
	}
	if h == nil || h.Deleting {
		return NotFound(req.ID, req.Key)
	}
	if h.Version != req.Commit {
		if err := t.steer(h, req); err != nil {
			return err
		}
	}
	res.Now = t.Now
	res.Instance, err = t.Row(h.Key)
	return err
}

func (t *Tx) steer(h *Head, req *provider.SteerRequest) error {
	if h.Status.Ended() && req.Action != provider.SteerReset {
		return fmt.Errorf("instance %q (status %s): %w", h.ID, h.Status, provider.ErrEnded)
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
	if err := t.act(h, req); err != nil {
		return err
	}
	h.Version, h.UpdatedAt = req.Commit, t.Now
	t.TouchWide(h)
	return nil
}

func (t *Tx) act(h *Head, req *provider.SteerRequest) error {
	switch req.Action {
	case provider.SteerSuspend:
		h.Status = provider.StatusSuspended
		return t.Rows.HoldTasks(h.Key)
	case provider.SteerResume:
		if h.Status != provider.StatusSuspended {
			return nil
		}
		h.Status = provider.StatusRunning
		return t.Rows.ResumeTasks(t, h)
	case provider.SteerUnblock:
		h.Blocked, h.RetryAt, h.Deliveries, h.NotBefore = false, 0, 0, 0
		return t.Rows.ClearBlocked(h.Key)
	case provider.SteerTerminate:
		return t.terminate(h, req)
	default:
		return t.reset(h, req)
	}
}

// terminate ends the instance and tells its parent and its attached children.
func (t *Tx) terminate(h *Head, req *provider.SteerRequest) error {
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
func (t *Tx) tellParent(h *Head, notice provider.NewMessage) error {
	if h.Parent.Key.IsZero() {
		return nil
	}
	notice.Execution, notice.EventID = h.Parent.Execution, h.Parent.EventID
	parent, err := t.Head(h.Parent.Key)
	if err != nil || parent.sendable("", h.Parent.Key) != nil || parent.Execution != notice.Execution {
		return err
	}
	_, err = t.deliver(parent, &notice)
	return err
}

func (t *Tx) tellChildren(h *Head, notice *provider.NewMessage) error {
	keys, err := t.Rows.Attached(h.Key)
	if err != nil {
		return err
	}
	for _, key := range keys {
		child, err := t.Head(key)
		if err != nil {
			return err
		}
		if child.sendable("", key) != nil {
			continue
		}
		if _, err := t.deliver(child, notice); err != nil {
			return err
		}
	}
	return nil
}

// checkCurrent refuses to reset an instance that was replaced: two would run under one ID.
func (t *Tx) checkCurrent(h *Head) error {
	current, err := t.Find(h.ID, provider.UUID{})
	switch {
	case err != nil || current == h:
		return err
	case current == nil: // its successor was deleted
		return fmt.Errorf("instance %q (status %s) was replaced: %w", h.ID, h.Status, provider.ErrEnded)
	default:
		return &provider.ExistsError{ID: h.ID, Key: current.Key, Status: current.Status}
	}
}

// reset closes the current execution and opens the next one with the caller's events.
func (t *Tx) reset(h *Head, req *provider.SteerRequest) error {
	status := provider.StatusReset
	if h.Status.Ended() {
		status = h.Status
	}
	if err := t.closeExecution(h, status); err != nil {
		return err
	}
	if err := t.Rows.SetResult(h.Key, nil); err != nil {
		return err
	}
	kind, err := t.kindOf(h.Kind)
	if err != nil {
		return err
	}
	kind.Level = req.EngineLevel
	if h.Kind, err = t.turnKind(kind); err != nil {
		return err
	}
	h.Status, h.EndedAt = provider.StatusRunning, 0
	h.Execution, h.Length, h.Bytes = h.Execution+1, 0, 0
	h.Blocked, h.RetryAt, h.Deliveries, h.NotBefore = false, 0, 0, 0
	h.StickyOwner, h.StickyUntil = "", 0
	t.EndLease(h)
	if h.ReadyAt == 0 || h.ReadyAt > t.Now {
		h.ReadyAt = t.Now // so that somebody runs the new execution
	}
	return t.appendEvents(h, req.Events)
}

// MarkDeleting makes every other call leave the instance alone. version is one that nobody will name.
func (t *Tx) MarkDeleting(h *Head, version provider.UUID) {
	if h.Deleting {
		return
	}
	h.Deleting, h.UpdatedAt, h.Version = true, t.Now, version
	t.EndLease(h)
	t.notice(h.Key, h.Execution, 0)
	t.News(h.Key)
}

// Redrive puts a dead letter back where it came from; false if that is not there any more.
func (t *Tx) Redrive(l *provider.DeadLetter, timer bool, priority int) (bool, error) {
	h, err := t.Head(l.Key)
	if err != nil || h.sendable("", l.Key) != nil {
		return false, err
	}
	if !l.Task {
		m := provider.NewMessage{Kind: l.Kind, Execution: l.Execution, EventID: l.EventID, Payload: l.Payload}
		_, err = t.put(h, &m, t.Now, timer && l.Execution == h.Execution)
		return err == nil, err
	}
	if h.Execution != l.Execution {
		return false, nil
	}
	task, err := t.Rows.Task(provider.TaskRef{Key: l.Key, Execution: l.Execution, EventID: l.EventID})
	if err != nil || task != nil {
		return false, err
	}
	again := &provider.NewTask{EventID: l.EventID, Queue: l.Queue, Name: l.Name, Payload: l.Payload, Priority: priority}
	err = t.addTask(h, again, nil)
	return err == nil, err
}
