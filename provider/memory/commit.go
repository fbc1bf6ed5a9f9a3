package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// CommitTurn implements provider.Provider.
func (tn *turns) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (res provider.CommitTurnResult, err error) {
	err = tn.do(ctx, req, func(now provider.Time) error {
		i := tn.instances.byKey[req.Key]
		if i == nil {
			return provider.ErrConflict
		}
		if i.row.Version != req.Commit {
			if err := tn.checkCommit(i, &req); err != nil {
				return err
			}
			tn.apply(i, &req, now)
			tn.write()
			tn.counts.CommitGroups++
		}
		res = provider.CommitTurnResult{Now: now, ReadyAt: i.readyAt()}
		return nil
	})
	return res, err
}

// checkCommit finds every reason to refuse the commit, so that apply cannot fail.
func (tn *turns) checkCommit(i *instance, req *provider.CommitTurnRequest) error {
	row := &i.row
	if row.Version != req.Expected || row.Execution != req.Execution || row.Status != provider.StatusRunning ||
		int64(len(i.execution().events)) != req.Length || req.Ahead && i.lease != req.Lease {
		return provider.ErrConflict
	}
	consumed := idSet(req.Consumed)
	found, unnamed, timers := 0, 0, map[int64]bool{}
	for _, m := range i.inbox {
		switch {
		case consumed[m.ID]:
			found++
		case m.Timer:
			timers[m.EventID] = true
		default:
			unnamed++
		}
	}
	if found < len(consumed) {
		return provider.ErrConflict
	}
	if unnamed > 0 && req.Status.Ended() && req.CloseInbox == "" {
		return provider.ErrInboxNotEmpty
	}
	completed := map[int64]bool{}
	for _, c := range req.Completes {
		t := tn.tasks.byRef[provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: c.EventID}]
		if t == nil || t.state != provider.TaskLeased || t.token != c.Token {
			return provider.ErrLeaseLost
		}
		completed[c.EventID] = true
	}
	return tn.checkNew(req, completed, timers)
}

// checkNew refuses a task or timer for an event that already has one. The engine assigns an event ID once, so this is its fault.
func (tn *turns) checkNew(req *provider.CommitTurnRequest, completed, timers map[int64]bool) error {
	for _, t := range req.Tasks {
		if !completed[t.EventID] && tn.tasks.byRef[provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: t.EventID}] != nil {
			return fmt.Errorf("commit turn: %w: event %d has a task already", provider.ErrInvalid, t.EventID)
		}
	}
	for _, t := range req.Timers {
		if timers[t.EventID] {
			return fmt.Errorf("commit turn: %w: event %d has a timer already", provider.ErrInvalid, t.EventID)
		}
	}
	return nil
}

func idSet(ids []int64) map[int64]bool {
	set := make(map[int64]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// apply applies the parts of the commit in the order of the contract.
func (tn *turns) apply(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	for n := range req.Tasks {
		if req.Tasks[n].Lease != nil {
			tn.tasks.forgetEnded(req.Tasks[n].Session, now)
		}
	}
	for _, c := range req.Completes {
		ref := provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: c.EventID}
		tn.tasks.useSession(tn.tasks.byRef[ref], now)
		delete(tn.tasks.byRef, ref)
	}
	consumed := idSet(req.Consumed)
	tn.inboxes.remove(i, func(m provider.Message) bool { return consumed[m.ID] })
	i.wokenAt = 0 // from here on only messages make it ready
	i.execution().add(req.Events...)
	tn.scheduleAll(i, req, now)
	tn.tasks.cancel(req, now)
	for _, t := range req.Timers {
		tn.inboxes.putTimer(i, t, now)
	}
	cancelled := idSet(req.CancelTimers)
	tn.inboxes.remove(i, func(m provider.Message) bool { return m.Timer && cancelled[m.EventID] })
	tn.deliver(i, req, now)
	tn.applyRow(i, req, now)
	tn.applyStatus(i, req, now)
}

// scheduleAll stores the tasks. A task that the commit itself cancels does not take a turn of its fairness key.
func (tn *turns) scheduleAll(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	cancelled := make(map[int64]bool, len(req.CancelTasks))
	for _, c := range req.CancelTasks {
		cancelled[c.EventID] = true
	}
	for n := range req.Tasks {
		if cancelled[req.Tasks[n].EventID] {
			tn.tasks.schedule(i, &req.Tasks[n], now)
		} else {
			tn.tasks.add(i, &req.Tasks[n], now)
		}
	}
}

// deliver delivers sends and starts. A refusal goes into the sender's own inbox. If the commit ends the sender, it goes to the
// dead letters.
func (tn *turns) deliver(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	for n := range req.Sends {
		s := &req.Sends[n]
		to, err := tn.instances.receiver(s.ID, s.Key)
		if to == i && req.Status.Ended() { // the sender will not read it
			err = provider.ErrEnded
		}
		if err == nil && s.Replies != nil && !to.room(s.Message) {
			err = provider.ErrInboxFull
		}
		if err == nil {
			tn.inboxes.put(to, s.Message, now)
		}
		if reply := s.Reply(err, req.Status.Ended()); reply != nil {
			tn.inboxes.put(i, *reply, now)
		} else if err != nil {
			tn.counts.Dropped++
		}
	}
	for _, s := range req.Starts {
		if _, _, err := tn.create(s.Create, now); err != nil {
			tn.inboxes.put(i, s.Refused, now)
		} else if s.Accepted != nil && !req.Status.Ended() {
			tn.inboxes.put(i, *s.Accepted, now)
		}
	}
}

// applyRow sets the plain fields of the instance.
func (tn *turns) applyRow(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	row := &i.row
	row.Version, row.UpdatedAt = req.Commit, now
	row.Deliveries, row.Blocked = 0, nil
	row.EngineLevel = max(row.EngineLevel, req.EngineLevel)
	i.heldUntil = 0
	i.owner, i.ownerUntil = req.Owner, now.Add(req.Sticky)
	if i.lease == req.Lease {
		i.lease, i.leaseUntil = provider.UUID{}, 0
	}
	if req.CustomStatus != nil {
		row.CustomStatus = append([]byte(nil), req.CustomStatus...) // an empty status clears it
	}
	i.setAttributes(req.Attributes)
	i.setValues(req.Values)
}

// applyStatus ends the instance or continues it as new, if the commit does.
func (tn *turns) applyStatus(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	tn.tasks.endSessions(req.EndSessions)
	if req.Status.Ended() {
		tn.end(i, req.Status, req.Result, cmp.Or(req.CloseInbox, "sent by the turn that closed the instance"), now)
		i.row.Excerpt, i.row.FailureGroup = append([]byte(nil), req.Excerpt...), req.FailureGroup // none: nil, as in a row without one
		return
	}
	if req.Next == nil {
		return
	}
	tn.dropWork(i)
	i.execution().status, i.execution().ended = provider.StatusContinuedAsNew, now
	i.open(req.Next.EngineLevel, req.Next.Events)
	if req.Next.Name != "" {
		i.row.Name = req.Next.Name
	}
	i.row.CodeVersion = req.Next.CodeVersion
	if req.Next.Message != nil {
		m := *req.Next.Message
		m.Execution = i.row.Execution
		tn.inboxes.put(i, m, now)
	}
}

// end closes the instance. Only the history of its execution stays.
func (tn *turns) end(i *instance, status provider.Status, result []byte, reason string, now provider.Time) {
	tn.dropWork(i)
	tn.tasks.leaveSessions(i.row.Key)
	for _, m := range tn.inboxes.remove(i, func(provider.Message) bool { return true }) {
		tn.deadLetters.add(deadLetterOf(i, m), reason, now)
	}
	i.row.Status, i.row.Result, i.row.EndedAt = status, slices.Clone(result), now
	i.row.Blocked, i.row.Deliveries = nil, 0
	i.lease, i.leaseUntil, i.wokenAt = provider.UUID{}, 0, 0
	delete(tn.instances.live, i.row.Key)
	tn.notifyListener(i, now)
}

// notifyListener delivers the message about the end of i.
func (tn *turns) notifyListener(i *instance, now provider.Time) {
	if i.listener == nil {
		return
	}
	to, execution := tn.instances.live[i.listener.Key], i.listener.Message.Execution
	if to != nil && (execution == 0 || execution == to.row.Execution) {
		tn.inboxes.put(to, i.listener.Message, now)
	}
}

// dropWork removes the tasks and timers of the current execution and notifies the nodes that run them.
func (tn *turns) dropWork(i *instance) {
	for ref := range tn.tasks.byRef {
		if ref.Key == i.row.Key {
			delete(tn.tasks.byRef, ref)
		}
	}
	tn.inboxes.remove(i, isTimer)
	tn.notice(i.row.Key, i.row.Execution, 0)
}
