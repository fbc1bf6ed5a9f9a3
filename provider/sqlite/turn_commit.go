package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// CommitTurn implements [provider.Provider].
func (p *Provider) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if err := req.Validate(); err != nil {
		return provider.CommitTurnResult{}, err
	}
	return write(ctx, p, "commit turn", commitBytes(&req), func(t *tx, res *provider.CommitTurnResult) error {
		return t.commitTurn(&req, res)
	})
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

// commitTurn checks everything that can refuse the turn before its first write, as far
// as that costs nothing; a refusal after a write makes the whole group run again.
func (t *tx) commitTurn(req *provider.CommitTurnRequest, res *provider.CommitTurnResult) error {
	h, err := t.head(req.Key)
	if err != nil {
		return err
	}
	if h == nil {
		return fmt.Errorf("instance %s is gone: %w", req.Key, provider.ErrConflict)
	}
	if h.version == req.Commit {
		*res = provider.CommitTurnResult{Now: t.now, ReadyAt: h.readyAt}
		return nil
	}
	if err := fence(h, req); err != nil {
		return err
	}
	closing := req.Status.Ended()
	eaten, err := t.matchConsumed(h, req, closing)
	if err != nil {
		return err
	}
	if err := t.completeTasks(h, req.Completes); err != nil {
		return err
	}
	if err := t.consume(h, eaten); err != nil {
		return err
	}
	if err := t.extend(h, req); err != nil {
		return err
	}
	if err := t.sendAll(h, req); err != nil {
		return err
	}
	if err := t.describe(h, req); err != nil {
		return err
	}
	if err := t.conclude(h, req); err != nil {
		return err
	}
	if req.Sticky > 0 {
		if err := t.enroll(req.Owner); err != nil {
			return err
		}
	}
	t.advance(h, req)
	*res = provider.CommitTurnResult{Now: t.now, ReadyAt: h.readyAt}
	return nil
}

// fence tells why the turn may not be committed.
func fence(h *head, req *provider.CommitTurnRequest) error {
	var what string
	switch {
	case h.deleting:
		what = "it is being deleted"
	case h.status != provider.StatusRunning:
		what = "its status is " + h.status.String()
	case h.execution != req.Execution:
		what = "another execution is current"
	case h.version != req.Expected:
		what = "it was changed since"
	case h.length != req.Length:
		what = "its history has another length"
	default:
		return nil
	}
	return fmt.Errorf("instance %q: %s: %w", h.id, what, provider.ErrConflict)
}

// extend appends the events and stores what they stand for.
func (t *tx) extend(h *head, req *provider.CommitTurnRequest) error {
	if err := t.appendEvents(h, req.Events); err != nil {
		return err
	}
	for i := range req.Tasks {
		if err := t.addTask(h, &req.Tasks[i]); err != nil {
			return err
		}
	}
	for _, c := range req.CancelTasks {
		if err := t.cancelTask(h, c); err != nil {
			return err
		}
	}
	for _, timer := range req.Timers {
		m := provider.NewMessage{Kind: timer.Kind, Execution: h.execution, EventID: timer.EventID, Payload: timer.Payload}
		if _, err := t.put(h, &m, timer.Due, true); err != nil {
			return doubled(err, "timer", timer.EventID)
		}
	}
	return t.cancelTimers(h, req.CancelTimers)
}

// sendAll delivers messages and starts children in the same transaction.
func (t *tx) sendAll(h *head, req *provider.CommitTurnRequest) error {
	for i := range req.Sends {
		send := &req.Sends[i]
		target, err := t.find(send.ID, send.Key)
		if err != nil {
			return err
		}
		closed := target == h && req.Status.Ended() // nobody would read it
		if closed || sendable(target, send.ID, send.Key) != nil {
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
		var res provider.CreateResult
		err := t.create(&start.Create, &res)
		if isRefusal(err) {
			err = t.refuse(h, &start.Refused)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	sqlCustomStatus = `INSERT INTO perdure_outcome (key, custom_status) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET custom_status = excluded.custom_status`
	sqlResult = `INSERT INTO perdure_outcome (key, result, sum) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET result = excluded.result, sum = excluded.sum`
	sqlSetValue = `INSERT INTO perdure_value (key, name, value) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET value = excluded.value`
	sqlDropValue = `DELETE FROM perdure_value WHERE key = ? AND name = ?`
)

// describe stores what observers read: custom status, attributes and key-values.
func (t *tx) describe(h *head, req *provider.CommitTurnRequest) error {
	if req.CustomStatus != nil {
		var status any
		if len(req.CustomStatus) > 0 {
			status = req.CustomStatus
		}
		if _, err := t.exec(sqlCustomStatus, h.key, status); err != nil {
			return err
		}
	}
	if err := t.setAttributes(h.key, req.Attributes); err != nil {
		return err
	}
	for _, v := range req.Values {
		var err error
		if v.Value == nil {
			_, err = t.exec(sqlDropValue, h.key, v.Key)
		} else {
			_, err = t.exec(sqlSetValue, h.key, v.Key, v.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// conclude ends the instance, opens its next execution, or raises its engine level.
func (t *tx) conclude(h *head, req *provider.CommitTurnRequest) error {
	switch {
	case req.Status.Ended():
		reason := req.CloseInbox
		if reason == "" {
			reason = "sent by the turn that closed the instance"
		}
		return t.end(h, req.Status, req.Result, reason)
	case req.Next != nil:
		return t.continueAs(h, req.Next)
	case req.EngineLevel == 0:
		return nil
	}
	kind, err := t.kindOf(h.kind)
	if err != nil || kind.level >= req.EngineLevel {
		return err
	}
	kind.level = req.EngineLevel
	h.kind, err = t.turnKind(kind)
	t.touchWide(h)
	return err
}

// end gives the instance its final status and removes what only a running one needs.
func (t *tx) end(h *head, status provider.Status, result []byte, reason string) error {
	if err := t.clearExecution(h); err != nil {
		return err
	}
	if err := t.buryInbox(h, reason); err != nil {
		return err
	}
	if result != nil {
		if _, err := t.exec(sqlResult, h.key, result, checksum(result)); err != nil {
			return err
		}
	}
	h.status, h.endedAt = status, t.now
	h.readyAt = 0 // a reset may have made it ready without a message
	h.blocked, h.retryAt, h.deliveries = false, 0, 0
	t.endLease(h)
	t.news(h)
	return nil
}

func (t *tx) continueAs(h *head, next *provider.NextExecution) error {
	if err := t.closeExecution(h, provider.StatusContinuedAsNew); err != nil {
		return err
	}
	old, err := t.kindOf(h.kind)
	if err != nil {
		return err
	}
	kind := turnKind{provider.Capability{Name: next.Name, CodeVersion: next.CodeVersion}, next.EngineLevel}
	if next.Name == "" {
		kind.Name = old.Name
	}
	if h.kind, err = t.turnKind(kind); err != nil {
		return err
	}
	h.execution, h.length, h.bytes = h.execution+1, 0, 0
	t.touchWide(h)
	if err := t.appendEvents(h, next.Events); err != nil {
		return err
	}
	if next.Message == nil {
		return nil
	}
	m := *next.Message
	m.Execution = h.execution
	_, err = t.deliver(h, &m)
	return err
}

// advance writes the new fence and what a good commit resets.
func (t *tx) advance(h *head, req *provider.CommitTurnRequest) {
	h.version, h.updatedAt, h.deliveries = req.Commit, t.now, 0
	h.stickyOwner, h.stickyUntil = "", 0
	if req.Sticky > 0 {
		h.stickyOwner, h.stickyUntil = req.Owner, t.elapsed+micros(req.Sticky)
	}
	if h.blocked {
		h.blocked, h.retryAt = false, 0
		t.touchWide(h)
	}
	if h.notBefore != 0 {
		h.notBefore = 0
		t.touchWide(h)
	}
	if !h.leaseToken.IsZero() && h.leaseToken == req.Lease {
		t.endLease(h)
	}
	t.touch(h)
	t.fx.turns++
}

// news tells the calls that wait for the instance. The row goes along if somebody waits,
// which saves each of them a read.
func (t *tx) news(h *head) { t.fx.changed = append(t.fx.changed, change{key: h.key}) }
