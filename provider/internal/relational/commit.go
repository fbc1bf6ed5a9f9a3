package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// CommitTurn applies a turn. It checks everything that can refuse it before its first
// write, as far as that costs nothing.
func (t *Tx) CommitTurn(req *provider.CommitTurnRequest, res *provider.CommitTurnResult) error {
	h, err := t.Head(req.Key)
	if err != nil {
		return err
	}
	if h == nil {
		return fmt.Errorf("instance %s is gone: %w", req.Key, provider.ErrConflict)
	}
	if h.Version == req.Commit {
		*res = provider.CommitTurnResult{Now: t.Now, ReadyAt: h.ReadyAt}
		return nil
	}
	if err := fence(h, req); err != nil {
		return err
	}
	eaten, err := t.matchConsumed(h, req, req.Status.Ended())
	if err != nil {
		return err
	}
	succeeded, err := t.succeedTask(h, req)
	if err == nil && !succeeded {
		err = t.completeTasks(h, req.Completes)
	}
	if err != nil {
		return err
	}
	if err := t.consume(h, eaten); err != nil {
		return err
	}
	if err := t.extend(h, req, succeeded); err != nil {
		return err
	}
	for _, part := range []func(*Head, *provider.CommitTurnRequest) error{t.sendAll, t.describe, t.conclude} {
		if err := part(h, req); err != nil {
			return err
		}
	}
	t.advance(h, req)
	*res = provider.CommitTurnResult{Now: t.Now, ReadyAt: h.ReadyAt}
	return nil
}

// fence tells why the turn may not be committed.
func fence(h *Head, req *provider.CommitTurnRequest) error {
	var what string
	switch {
	case h.Deleting:
		what = "it is being deleted"
	case h.Status != provider.StatusRunning:
		what = "its status is " + h.Status.String()
	case h.Execution != req.Execution:
		what = "another execution is current"
	case h.Version != req.Expected:
		what = "it was changed since"
	case h.Length != req.Length:
		what = "its history has another length"
	case req.Ahead && h.LeaseToken != req.Lease:
		what = "its claim ahead has ended"
	default:
		return nil
	}
	return fmt.Errorf("instance %q: %s: %w", h.ID, what, provider.ErrConflict)
}

// extend appends the events and stores what they stand for, but for a task that is stored already.
func (t *Tx) extend(h *Head, req *provider.CommitTurnRequest, succeeded bool) error {
	if err := t.appendEvents(h, req.Events); err != nil {
		return err
	}
	gone := takenBack(req)
	var turns turns
	for i := range req.Tasks {
		if succeeded || gone.tasks[req.Tasks[i].EventID] {
			continue
		}
		if err := t.addTask(h, &req.Tasks[i], &turns); err != nil {
			return err
		}
	}
	for _, c := range req.CancelTasks {
		if gone.tasks[c.EventID] {
			t.notice(h.Key, h.Execution, c.EventID) // it may have been handed off
			continue
		}
		if err := t.cancelTask(h, c); err != nil {
			return err
		}
	}
	for _, timer := range req.Timers {
		if gone.timers[timer.EventID] {
			continue
		}
		m := provider.NewMessage{Kind: timer.Kind, Execution: h.Execution, EventID: timer.EventID, Payload: timer.Payload}
		if _, err := t.put(h, &m, timer.Due, true); err != nil {
			return err
		}
	}
	return t.cancelTimers(h, req.CancelTimers)
}

// events are tasks and timers by the events that they belong to.
type events struct{ tasks, timers map[int64]bool }

// takenBack finds what a commit both asks for and cancels: none of it is ever stored. Of a
// task that is handed off, its holder must hear instead.
func takenBack(req *provider.CommitTurnRequest) (gone events) {
	if len(req.Tasks) > 0 && len(req.CancelTasks) > 0 {
		fresh := make(map[int64]*provider.NewTask, len(req.Tasks))
		for i := range req.Tasks {
			fresh[req.Tasks[i].EventID] = &req.Tasks[i]
		}
		gone.tasks = make(map[int64]bool)
		for _, c := range req.CancelTasks {
			if task := fresh[c.EventID]; task != nil && (c.Remove || task.Lease == nil) {
				gone.tasks[c.EventID] = true
			}
		}
	}
	if len(req.Timers) > 0 && len(req.CancelTimers) > 0 {
		gone.timers = make(map[int64]bool, len(req.CancelTimers))
		for _, event := range req.CancelTimers {
			gone.timers[event] = true
		}
	}
	return gone
}

// sendAll delivers messages and starts children in the same transaction.
func (t *Tx) sendAll(h *Head, req *provider.CommitTurnRequest) error {
	for i := range req.Sends {
		send := &req.Sends[i]
		target, err := t.Find(send.ID, send.Key)
		if err != nil {
			return err
		}
		closed := target == h && req.Status.Ended() // nobody would read it
		if closed || target.sendable(send.ID, send.Key) != nil {
			err = t.refuse(h, send.Refused)
		} else {
			_, err = t.deliver(target, &send.Message)
		}
		if err != nil {
			return err
		}
	}
	for i := range req.Starts {
		start := &req.Starts[i]
		_, err := t.create(&start.Create)
		if isRefusal(err) {
			err = t.refuse(h, &start.Refused)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// describe stores what observers read: custom status, attributes and key-values.
func (t *Tx) describe(h *Head, req *provider.CommitTurnRequest) error {
	if req.CustomStatus != nil {
		t.Changes++
		if err := t.Rows.SetCustomStatus(h.Key, req.CustomStatus); err != nil {
			return err
		}
	}
	if err := t.setAttributes(h.Key, req.Attributes); err != nil {
		return err
	}
	for _, v := range req.Values {
		t.Changes++
		if err := t.Rows.SetValue(h.Key, v); err != nil {
			return err
		}
	}
	return nil
}

// conclude raises the engine level, and ends the instance or opens its next execution.
func (t *Tx) conclude(h *Head, req *provider.CommitTurnRequest) error {
	if req.EngineLevel > 0 && req.Next == nil {
		if err := t.raiseLevel(h, req.EngineLevel); err != nil {
			return err
		}
	}
	switch {
	case req.Status.Ended():
		reason := req.CloseInbox
		if reason == "" {
			reason = "sent by the turn that closed the instance"
		}
		return t.end(h, req.Status, req.Result, reason)
	case req.Next != nil:
		return t.continueAs(h, req.Next)
	default:
		return nil
	}
}

func (t *Tx) raiseLevel(h *Head, level int64) error {
	kind, err := t.kindOf(h.Kind)
	if err != nil || kind.Level >= level {
		return err
	}
	kind.Level = level
	h.Kind, err = t.turnKind(kind)
	t.TouchWide(h)
	return err
}

// end gives the instance its final status and removes what only a running one needs.
func (t *Tx) end(h *Head, status provider.Status, result []byte, reason string) error {
	if err := t.clearExecution(h); err != nil {
		return err
	}
	if err := t.buryInbox(h, reason); err != nil {
		return err
	}
	if result != nil {
		if err := t.Rows.SetResult(h.Key, result); err != nil {
			return err
		}
	}
	h.Status, h.EndedAt = status, t.Now
	h.ReadyAt = 0 // a reset may have made it ready without a message
	h.Blocked, h.RetryAt, h.Deliveries = false, 0, 0
	t.EndLease(h)
	t.News(h.Key)
	return nil
}

func (t *Tx) continueAs(h *Head, next *provider.NextExecution) error {
	if err := t.closeExecution(h, provider.StatusContinuedAsNew); err != nil {
		return err
	}
	old, err := t.kindOf(h.Kind)
	if err != nil {
		return err
	}
	kind := TurnKind{provider.Capability{Name: next.Name, CodeVersion: next.CodeVersion}, next.EngineLevel}
	if next.Name == "" {
		kind.Name = old.Name
	}
	if h.Kind, err = t.turnKind(kind); err != nil {
		return err
	}
	h.Execution, h.Length, h.Bytes = h.Execution+1, 0, 0
	t.TouchWide(h)
	if err := t.appendEvents(h, next.Events); err != nil {
		return err
	}
	if next.Message == nil {
		return nil
	}
	m := *next.Message
	m.Execution = h.Execution
	_, err = t.deliver(h, &m)
	return err
}

// advance writes the new fence and what a good commit resets.
func (t *Tx) advance(h *Head, req *provider.CommitTurnRequest) {
	h.Version, h.UpdatedAt, h.Deliveries = req.Commit, t.Now, 0
	h.StickyOwner, h.StickyUntil = "", 0
	if req.Sticky > 0 {
		h.StickyOwner, h.StickyUntil, h.Kept = req.Owner, t.Elapsed+req.Sticky.Microseconds(), true
	}
	if h.Blocked {
		h.Blocked, h.RetryAt = false, 0
		t.TouchWide(h)
	}
	if h.NotBefore != 0 {
		h.NotBefore = 0
		t.TouchWide(h)
	}
	if !h.LeaseToken.IsZero() && h.LeaseToken == req.Lease {
		t.EndLease(h)
	}
	t.touch(h)
	t.Effects.Commits++
}

// commitBytes estimates what a commit adds to its group.
func commitBytes(req *provider.CommitTurnRequest) int {
	n := len(req.Result) + len(req.CustomStatus)
	for _, e := range req.Events {
		n += len(e)
	}
	for i := range req.Tasks {
		n += len(req.Tasks[i].Payload)
	}
	for i := range req.Sends {
		n += len(req.Sends[i].Message.Payload)
	}
	for i := range req.Starts {
		n += len(req.Starts[i].Create.Message.Payload)
	}
	return n
}

// createBytes estimates what a new instance adds to its group.
func createBytes(req *provider.CreateRequest) int {
	if req.First == nil {
		return len(req.Message.Payload)
	}
	return len(req.Message.Payload) + commitBytes(req.First)
}
