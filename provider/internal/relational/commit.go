package relational

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// turnCommit is a turn as it is applied to its instance.
type turnCommit struct {
	t   *Tx
	h   *Head
	req *provider.CommitTurnRequest
}

// CommitTurn applies a turn. Checks come before the first write, as far as that costs nothing.
func (t *Tx) CommitTurn(req *provider.CommitTurnRequest, res *provider.CommitTurnResult) error {
	h, err := t.Head(req.Key)
	if err != nil {
		return err
	}
	if h == nil {
		return fmt.Errorf("instance %s is gone: %w", req.Key, provider.ErrConflict)
	}
	if h.Version != req.Commit {
		if err := (turnCommit{t, h, req}).apply(); err != nil {
			return err
		}
	}
	*res = provider.CommitTurnResult{Now: t.Now, ReadyAt: h.ReadyAt}
	return nil
}

func (c turnCommit) apply() error {
	if err := c.fence(); err != nil {
		return err
	}
	box := inbox{c.t, c.h}
	consumed, err := box.find(c.req.Consumed, c.req.Status.Ended() && c.req.CloseInbox == "")
	if err != nil {
		return err
	}
	if err := c.forgetSessions(); err != nil {
		return err
	}
	handedOff, err := c.completeAndHandOff()
	if err == nil && !handedOff {
		err = c.completeTasks()
	}
	if err != nil {
		return err
	}
	if err := box.consume(consumed); err != nil {
		return err
	}
	if err := c.extend(handedOff); err != nil {
		return err
	}
	if err := c.send(); err != nil {
		return err
	}
	if err := c.describe(); err != nil {
		return err
	}
	if err := c.conclude(); err != nil {
		return err
	}
	c.advance()
	return nil
}

// fence refuses a turn that was computed from a state that is no longer stored.
func (c turnCommit) fence() error {
	h, req := c.h, c.req
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

// extend appends the events, and stores and cancels the tasks and timers that they stand for. With handedOff the
// only new task is stored already.
func (c turnCommit) extend(handedOff bool) error {
	t, h, req := c.t, c.h, c.req
	if err := (execution{t, h}).append(req.Events); err != nil {
		return err
	}
	unstored := c.unstored()
	tasks := newTasks{t: t, h: h}
	for i := range req.Tasks {
		if handedOff || unstored.tasks[req.Tasks[i].EventID] {
			continue
		}
		if err := tasks.add(&req.Tasks[i]); err != nil {
			return err
		}
	}
	for _, cancel := range req.CancelTasks {
		if unstored.tasks[cancel.EventID] {
			t.notice(h.Key, h.Execution, cancel.EventID) // it may have been handed off
			continue
		}
		if err := c.cancelTask(cancel); err != nil {
			return err
		}
	}
	box := inbox{t, h}
	for _, timer := range req.Timers {
		if unstored.timers[timer.EventID] {
			continue
		}
		m := provider.NewMessage{Kind: timer.Kind, Execution: h.Execution, EventID: timer.EventID, Payload: timer.Payload}
		if _, err := box.put(&m, timer.Due, true); err != nil {
			return err
		}
	}
	return box.cancelTimers(req.CancelTimers)
}

// events are tasks and timers, by the events that scheduled them.
type events struct{ tasks, timers map[int64]bool }

// unstored returns what the turn both schedules and cancels, which is never stored. A task that was handed off is
// stored unless it is to be removed, because its holder must learn of the cancellation.
func (c turnCommit) unstored() (e events) {
	req := c.req
	if len(req.Tasks) > 0 && len(req.CancelTasks) > 0 {
		scheduled := make(map[int64]*provider.NewTask, len(req.Tasks))
		for i := range req.Tasks {
			scheduled[req.Tasks[i].EventID] = &req.Tasks[i]
		}
		e.tasks = make(map[int64]bool)
		for _, cancel := range req.CancelTasks {
			if task := scheduled[cancel.EventID]; task != nil && (cancel.Remove || task.Lease == nil) {
				e.tasks[cancel.EventID] = true
			}
		}
	}
	if len(req.Timers) > 0 && len(req.CancelTimers) > 0 {
		e.timers = make(map[int64]bool, len(req.CancelTimers))
		for _, event := range req.CancelTimers {
			e.timers[event] = true
		}
	}
	return e
}

// send delivers messages and starts instances.
func (c turnCommit) send() error {
	t := c.t
	for i := range c.req.Sends {
		send := &c.req.Sends[i]
		target, err := t.Find(send.ID, send.Key)
		if err != nil {
			return err
		}
		if err := c.sendOne(send, target); err != nil {
			return err
		}
	}
	for i := range c.req.Starts {
		if err := c.start(&c.req.Starts[i]); err != nil {
			return err
		}
	}
	return nil
}

// start inserts an instance, and notifies the sender if it waits for that. A repeat finds the instance that it inserted before.
func (c turnCommit) start(start *provider.Start) error {
	own, child := inbox{c.t, c.h}, insertion{c.t, &start.Create}
	existing, err := child.admit()
	if err == nil && existing == nil {
		err = child.insert()
	}
	switch {
	case errors.Is(err, provider.ErrExists) || errors.Is(err, provider.ErrNotFound):
		return own.refuse(&start.Refused)
	case err == nil && start.Accepted != nil && !c.req.Status.Ended():
		_, err = own.deliver(start.Accepted)
	}
	return err
}

// sendOne delivers a message, or what the sender gets in its place.
func (c turnCommit) sendOne(send *provider.OutMessage, target *Head) error {
	own, to, ends := inbox{c.t, c.h}, inbox{c.t, target}, c.req.Status.Ended()
	refused := target.sendable(send.ID, send.Key)
	if target == c.h && ends { // nobody would read it
		refused = provider.ErrEnded
	}
	if refused == nil && send.Replies != nil {
		refused = to.room(send.Message)
	}
	if refused == nil {
		if _, err := to.deliver(&send.Message); err != nil {
			return err
		}
	}
	reply := send.Reply(refused, ends)
	if reply == nil && refused == nil {
		return nil
	}
	return own.refuse(reply)
}

// describe stores what observers read: custom status, attributes and key-values.
func (c turnCommit) describe() error {
	t, key := c.t, c.h.Key
	if c.req.CustomStatus != nil {
		t.Changes++
		if err := t.Rows.SetCustomStatus(key, c.req.CustomStatus); err != nil {
			return err
		}
	}
	if err := setAttributes(t, key, c.req.Attributes); err != nil {
		return err
	}
	for _, v := range c.req.Values {
		t.Changes++
		if err := t.Rows.SetValue(key, v); err != nil {
			return err
		}
		t.Effects.Values = append(t.Effects.Values, Followed{key, v.Key})
	}
	return nil
}

// conclude ends sessions, raises the engine level, and ends the instance or opens its next execution.
func (c turnCommit) conclude() error {
	req := c.req
	if len(req.EndSessions) > 0 {
		c.t.Changes++
		if err := c.t.Rows.EndSessions(req.EndSessions); err != nil {
			return err
		}
	}
	if req.Next == nil {
		if err := c.t.raiseLevel(c.h, req.EngineLevel); err != nil {
			return err
		}
	}
	switch {
	case req.Status.Ended():
		reason := req.CloseInbox
		if reason == "" {
			reason = "sent by the turn that closed the instance"
		}
		return execution{c.t, c.h}.end(req.Status, req.Result, failureOf(req.Excerpt, req.FailureGroup, c.t.Now), reason)
	case req.Next != nil:
		return c.continueAs(req.Next)
	default:
		return nil
	}
}

func (c turnCommit) continueAs(next *provider.NextExecution) error {
	current := execution{c.t, c.h}
	if err := current.close(provider.StatusContinuedAsNew); err != nil {
		return err
	}
	old, err := turnKind(c.t.Rows, c.h.Kind)
	if err != nil {
		return err
	}
	level := levelAfter(c.h, max(old.Level, c.req.EngineLevel), next.EngineLevel)
	kind := TurnKind{provider.Capability{Name: next.Name, CodeVersion: next.CodeVersion}, level}
	if next.Name == "" {
		kind.Name = old.Name
	}
	if err := current.open(kind); err != nil {
		return err
	}
	if err := current.append(next.Events); err != nil {
		return err
	}
	if next.Message == nil {
		return nil
	}
	m := *next.Message
	m.Execution = c.h.Execution
	_, err = inbox{c.t, c.h}.deliver(&m)
	return err
}

// advance stores the commit ID as the new version, and resets what a commit resets.
func (c turnCommit) advance() {
	t, h, req := c.t, c.h, c.req
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
		t.endTurnLease(h)
	}
	t.touch(h)
	t.Commits++
}
