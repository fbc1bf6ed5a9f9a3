package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Steer changes an instance from outside.
func (t *Tx) Steer(req *provider.SteerRequest, res *provider.SteerResult) error {
	return t.steer(req, nil, res)
}

func (t *Tx) steer(req *provider.SteerRequest, from *provider.ResetRequest, res *provider.SteerResult) error {
	h, err := t.Find(req.ID, req.Key)
	if err != nil {
		return err
	}
	if h == nil || h.Deleting {
		return t.gone(h, req.ID, req.Key)
	}
	if err := t.CheckFree(h); err != nil {
		return err
	}
	if h.Version != req.Commit {
		s := steering{t, h, req, from}
		if err := s.once(s.apply); err != nil {
			return err
		}
	}
	res.Now = t.Now
	res.Instance, err = t.Row(h.Key)
	return err
}

// steering is an action of Steer on its instance.
type steering struct {
	t    *Tx
	h    *Head
	req  *provider.SteerRequest
	from *provider.ResetRequest // of a reset to a prefix
}

func (s steering) apply() error {
	t, h, req := s.t, s.h, s.req
	if h.Status.Ended() && req.Action != provider.SteerReset {
		return fmt.Errorf("instance %q (status %s): %w", h.ID, h.Status, provider.ErrEnded)
	}
	if req.Action == provider.SteerReset {
		if err := s.checkCurrent(); err != nil {
			return err
		}
	}
	if !req.Expected.IsZero() && h.Version != req.Expected {
		return fmt.Errorf("instance %q: it was changed since: %w", h.ID, provider.ErrConflict)
	}
	first, then := s.record, s.act
	if req.Action == provider.SteerMove || req.Action == provider.SteerDrop { // they may still refuse, before they write
		first, then = s.act, s.record
	}
	if err := first(); err != nil {
		return err
	}
	if err := then(); err != nil {
		return err
	}
	h.Version, h.UpdatedAt = req.Commit, t.Now
	t.TouchWide(h)
	return nil
}

// record appends the event of the act.
func (s steering) record() error {
	if s.req.Event == nil {
		return nil
	}
	return execution{s.t, s.h}.append([][]byte{s.req.Event})
}

func (s steering) act() error {
	t, h := s.t, s.h
	switch s.req.Action {
	case provider.SteerSuspend:
		h.Status = provider.StatusSuspended
		return t.Rows.HoldTasks(h.Key)
	case provider.SteerResume:
		if h.Status != provider.StatusSuspended {
			return nil
		}
		h.Status = provider.StatusRunning
		return t.Rows.ResumeTasks(&t.Effects, h)
	case provider.SteerUnblock:
		h.Blocked, h.RetryAt, h.Deliveries, h.NotBefore = false, 0, 0, 0
		return t.Rows.ClearBlocked(h.Key)
	case provider.SteerTerminate:
		return s.terminate()
	case provider.SteerMove:
		return s.move()
	case provider.SteerDrop:
		return s.drop()
	default:
		return s.reset()
	}
}

// terminate ends the instance and notifies its parent and its attached children.
func (s steering) terminate() error {
	if err := s.sendNotices(); err != nil {
		return err
	}
	if err := (execution{s.t, s.h}).end(provider.StatusTerminated, s.req.Result, nil, "the instance was terminated"); err != nil {
		return err
	}
	if s.req.ParentNotice != nil {
		if err := s.notifyParent(*s.req.ParentNotice); err != nil {
			return err
		}
	}
	if s.req.ChildNotice == nil {
		return nil
	}
	return s.notifyChildren()
}

// notifyParent delivers the notice if the parent still runs the execution that started the instance.
func (s steering) notifyParent(notice provider.NewMessage) error {
	from := s.h.Parent
	if from.Key.IsZero() {
		return nil
	}
	notice.Execution, notice.EventID = from.Execution, from.EventID
	parent, err := s.t.Head(from.Key)
	if err != nil || parent.sendable("", from.Key) != nil || parent.Execution != notice.Execution {
		return err
	}
	_, err = inbox{s.t, parent}.deliver(&notice)
	return err
}

func (s steering) notifyChildren() error {
	keys, err := s.t.Rows.Attached(s.h.Key)
	if err != nil {
		return err
	}
	for _, key := range keys {
		child, err := s.t.Head(key)
		if err != nil {
			return err
		}
		if child.sendable("", key) != nil {
			continue
		}
		if _, err := (inbox{s.t, child}).deliver(s.req.ChildNotice); err != nil {
			return err
		}
	}
	return nil
}

// checkCurrent refuses to reset an instance that was replaced: two would run under one ID.
func (s steering) checkCurrent() error {
	h := s.h
	current, err := s.t.Find(h.ID, provider.UUID{})
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
func (s steering) reset() error {
	t, h, current := s.t, s.h, execution{s.t, s.h}
	ready := h.ReadyAt
	status := provider.StatusReset
	if h.Status.Ended() {
		status = h.Status
	}
	if err := current.close(status); err != nil {
		return err
	}
	if err := t.Rows.SetResult(h.Key, nil, nil); err != nil {
		return err
	}
	kind, err := turnKind(t.Rows, h.Kind)
	if err != nil {
		return err
	}
	kind.Level = levelAfter(h, kind.Level, s.req.EngineLevel)
	if s.from != nil {
		kind.Name, kind.CodeVersion = s.from.Name, s.from.CodeVersion
	}
	if err := current.open(kind); err != nil {
		return err
	}
	h.Status, h.EndedAt = provider.StatusRunning, 0
	h.Blocked, h.RetryAt, h.Deliveries, h.NotBefore = false, 0, 0, 0
	h.StickyOwner, h.StickyUntil = "", 0
	t.endTurnLease(h)
	if ready == 0 || ready > t.Now {
		ready = t.Now // so that a fetch takes the new execution
	}
	h.ReadyAt = ready
	if s.from != nil {
		return s.fill()
	}
	return current.append(s.req.Events)
}

// MarkDeleting makes every other call ignore the instance. The version is one that no caller will name.
func (t *Tx) MarkDeleting(h *Head, version provider.UUID) error {
	if h.Deleting {
		return nil
	}
	h.Deleting, h.UpdatedAt, h.Version = true, t.Now, version
	t.endTurnLease(h)
	t.notice(h.Key, h.Execution, 0)
	t.MarkChanged(h.Key)
	if h.Status.Ended() {
		return nil
	}
	return t.notifyListener(h)
}
