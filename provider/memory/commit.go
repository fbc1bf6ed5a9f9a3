package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// CommitTurn implements provider.Provider.
func (p *Provider) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (res provider.CommitTurnResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		i := p.instances[req.Key]
		if i == nil {
			return provider.ErrConflict
		}
		if i.row.Version != req.Commit {
			if err := p.checkCommit(i, &req); err != nil {
				return err
			}
			p.apply(i, &req, now)
			p.write()
			p.stats.CommitGroups++
		}
		res = provider.CommitTurnResult{Now: now, ReadyAt: i.readyAt()}
		return nil
	})
	return res, err
}

// checkCommit finds every reason to refuse the commit, so that apply cannot fail.
func (p *Provider) checkCommit(i *instance, req *provider.CommitTurnRequest) error {
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
		t := p.tasks[provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: c.EventID}]
		if t == nil || t.state != provider.TaskLeased || t.token != c.Token {
			return provider.ErrLeaseLost
		}
		completed[c.EventID] = true
	}
	return p.checkNew(req, completed, timers)
}

// checkNew refuses a task or timer for an event that has one already: event IDs are given
// once, so this is a fault of the engine.
func (p *Provider) checkNew(req *provider.CommitTurnRequest, completed, timers map[int64]bool) error {
	for _, t := range req.Tasks {
		if !completed[t.EventID] && p.tasks[provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: t.EventID}] != nil {
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

// apply does what the contract lists, in its order.
func (p *Provider) apply(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	for _, c := range req.Completes {
		ref := provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: c.EventID}
		p.useSession(p.tasks[ref], now)
		delete(p.tasks, ref)
	}
	consumed := idSet(req.Consumed)
	p.remove(i, func(m provider.Message) bool { return consumed[m.ID] })
	i.execution().add(req.Events...)
	p.scheduleAll(i, req, now)
	p.cancelTasks(req, now)
	for _, t := range req.Timers {
		p.putTimer(i, t, now)
	}
	cancelled := idSet(req.CancelTimers)
	p.remove(i, func(m provider.Message) bool { return m.Timer && cancelled[m.EventID] })
	p.deliver(i, req, now)
	p.applyRow(i, req, now)
	p.applyStatus(i, req, now)
}

// scheduleAll stores the tasks. One that the commit itself cancels takes no turn from others.
func (p *Provider) scheduleAll(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	cancelled := make(map[int64]bool, len(req.CancelTasks))
	for _, c := range req.CancelTasks {
		cancelled[c.EventID] = true
	}
	for n := range req.Tasks {
		stored := &req.Tasks[n]
		t := p.schedule(i, stored, now)
		if stored.FairnessKey != "" && stored.NotBefore == 0 && stored.Lease == nil && !cancelled[stored.EventID] {
			p.takeTurn(t, now)
		}
	}
}

// deliver hands over sends and starts. A refusal goes into the sender's own inbox, and from
// there to the dead letters if the commit ends the sender.
func (p *Provider) deliver(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	for _, s := range req.Sends {
		to, err := p.receiver(s.ID, s.Key)
		closed := to == i && req.Status.Ended() // nobody would read it
		switch {
		case err == nil && !closed:
			p.put(to, s.Message, now)
		case s.Refused != nil:
			p.put(i, *s.Refused, now)
		default:
			p.stats.Dropped++
		}
	}
	for _, s := range req.Starts {
		if _, _, err := p.create(s.Create, now); err != nil {
			p.put(i, s.Refused, now)
		}
	}
}

// applyRow sets the plain fields of the instance.
func (p *Provider) applyRow(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	row := &i.row
	row.Version, row.UpdatedAt = req.Commit, now
	row.Deliveries, row.Blocked = 0, nil
	row.EngineLevel = max(row.EngineLevel, req.EngineLevel)
	i.heldUntil, i.wokenAt = 0, 0
	i.owner, i.ownerUntil = req.Owner, now.Add(req.Sticky)
	if i.lease == req.Lease {
		i.lease, i.leaseUntil = provider.UUID{}, 0
	}
	if req.CustomStatus != nil {
		row.CustomStatus = append([]byte(nil), req.CustomStatus...) // an empty one clears
	}
	i.setAttributes(req.Attributes)
	for _, v := range req.Values {
		if v.Value == nil {
			delete(i.values, v.Key)
		} else {
			i.values[v.Key] = slices.Clone(v.Value)
		}
	}
}

// applyStatus ends the instance or continues it as new, if the commit says so.
func (p *Provider) applyStatus(i *instance, req *provider.CommitTurnRequest, now provider.Time) {
	if req.Status.Ended() {
		p.end(i, req.Status, req.Result, cmp.Or(req.CloseInbox, "sent by the turn that closed the instance"), now)
		return
	}
	if req.Next == nil {
		return
	}
	p.dropWork(i)
	i.execution().status = provider.StatusContinuedAsNew
	i.open(req.Next.EngineLevel, req.Next.Events)
	if req.Next.Name != "" {
		i.row.Name = req.Next.Name
	}
	i.row.CodeVersion = req.Next.CodeVersion
	if req.Next.Message != nil {
		m := *req.Next.Message
		m.Execution = i.row.Execution
		p.put(i, m, now)
	}
}
