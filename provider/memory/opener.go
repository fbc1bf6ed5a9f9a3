package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Reset implements provider.Opener.
func (tn *turns) Reset(ctx context.Context, req provider.ResetRequest) (res provider.SteerResult, err error) {
	err = tn.do(ctx, req, func(now provider.Time) error {
		i, err := tn.instances.find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if err := i.free(); err != nil {
			return err
		}
		if i.row.Version != req.Commit && !i.hasRequest(req.RequestID) {
			if err := tn.reopen(i, &req, now); err != nil {
				return err
			}
			i.row.Version, i.row.UpdatedAt = req.Commit, now
			i.addRequest(req.RequestID)
			tn.write()
		}
		res = provider.SteerResult{Instance: i.view(), Now: now}
		return nil
	})
	return res, err
}

// Fork implements provider.Opener.
func (tn *turns) Fork(ctx context.Context, req provider.ForkRequest) (res provider.CreateResult, err error) {
	err = tn.do(ctx, req, func(now provider.Time) error {
		i, fresh, err := tn.insert(&req.Create, now)
		if err != nil {
			return err
		}
		if fresh {
			i.execution().add(req.Prefix.Events...)
			i.wokenAt = now
			tn.fill(i, &req.Prefix, now)
		}
		res = provider.CreateResult{Instance: i.view(), Created: true, Now: now}
		return nil
	})
	return res, err
}

// reopen ends the current execution and opens the next one from the prefix. It refuses before it changes anything.
func (tn *turns) reopen(i *instance, req *provider.ResetRequest, now provider.Time) error {
	as := provider.SteerRequest{
		Action: provider.SteerReset, Expected: req.Expected, Event: req.Event, Events: req.Prefix.Events, EngineLevel: req.EngineLevel,
	}
	if err := tn.checkSteer(i, &as); err != nil {
		return err
	}
	old := i.row.Execution
	for _, link := range req.Children {
		if tn.child(i, link) == nil && !slices.ContainsFunc(i.inbox, concerns(old, link.EventID)) {
			return provider.ErrConflict
		}
	}
	if err := tn.steer(i, &as, now); err != nil {
		return err
	}
	i.row.Name, i.row.CodeVersion = req.Name, req.CodeVersion
	for _, link := range req.Children {
		for n, m := range i.inbox {
			if concerns(old, link.EventID)(m) {
				i.inbox[n].Execution = i.row.Execution
			}
		}
		if child := tn.child(i, link); child != nil {
			child.row.Parent.Execution = i.row.Execution
			child.row.Version, child.row.UpdatedAt = req.ChildVersion(link), now
		}
	}
	tn.fill(i, &req.Prefix, now)
	tn.deliver(i, &provider.CommitTurnRequest{Sends: req.Notices}, now)
	return nil
}

// child returns the running child of i that a link names, nil if there is none.
func (tn *turns) child(i *instance, link provider.ChildLink) *instance {
	child := tn.instances.live[link.Key]
	if child == nil || child.row.Parent.Key != i.row.Key || child.row.Parent.EventID != link.EventID {
		return nil
	}
	return child
}

// concerns returns whether a message concerns an event.
func concerns(execution, event int64) func(provider.Message) bool {
	return func(m provider.Message) bool { return m.Execution == execution && m.EventID == event && !m.Timer }
}

// fill stores all of a prefix but its events.
func (tn *turns) fill(i *instance, p *provider.Prefix, now provider.Time) {
	var first provider.Time
	if len(i.inbox) > 0 {
		first = i.inbox[0].VisibleAt
	}
	tn.scheduleAll(i, p.Turn(), now)
	for _, t := range p.Timers {
		tn.inboxes.putTimer(i, t, now)
	}
	for n := range p.Messages {
		m := &p.Messages[n]
		i.row.EngineLevel = max(i.row.EngineLevel, m.Message.EngineLevel)
		tn.inboxes.insert(i, provider.Message{
			ID: tn.next(), Kind: m.Message.Kind, Execution: m.Message.Execution, EventID: m.Message.EventID,
			VisibleAt: m.Place(now, first), Payload: slices.Clone(m.Message.Payload),
		}, now)
	}
	i.row.CustomStatus = append([]byte(nil), p.CustomStatus...)
	clear(i.attributes)
	i.setAttributes(p.Attributes)
	i.setValues(p.Values)
	i.requests = slices.Clone(p.Seen)
}
